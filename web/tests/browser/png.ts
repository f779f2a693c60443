/** Makes a picture of a page small: at most 256 colours, which is as good as all for text on paper. */

import { crc32, deflateSync, inflateSync } from "node:zlib";

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const MOST_COLOURS = 256;
/** Colours nearer than this, squared, are one: no eye tells them apart. */
const NEAR = 30;

/** The same picture with a palette; as Chromium writes them: 8 bits, without transparency or interlacing. */
export function shrink(png: Buffer): Buffer {
  const header = chunkOf(png, "IHDR");
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  if (header[8] !== 8 || header[9] !== 2) return png;
  const pixels = unfilter(inflateSync(chunkOf(png, "IDAT")), width * 3, height);
  const counts = new Map<number, number>();
  for (let at = 0; at < pixels.length; at += 3) {
    const colour = pixels.readUIntBE(at, 3);
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  const colours = [...counts].sort(([a, m], [b, n]) => n - m || a - b).map(([colour]) => colour);
  const palette = choose(colours);
  const places = new Map(colours.map((colour) => [colour, nearest(palette, colour).at]));
  const rows = Buffer.alloc((width + 1) * height);
  for (let y = 0, from = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1, from += 3) {
      rows[y * (width + 1) + 1 + x] = places.get(pixels.readUIntBE(from, 3)) ?? 0;
    }
  }
  header[9] = 3;
  const plte = Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]));
  const data = deflateSync(rows, { level: 9, memLevel: 9 });
  return Buffer.concat([
    SIGNATURE,
    chunk("IHDR", header),
    chunk("PLTE", plte),
    chunk("IDAT", data),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

/** The most frequent ones that differ. */
function choose(colours: readonly number[]): number[] {
  const palette: number[] = [];
  for (const colour of colours) {
    if (palette.length === MOST_COLOURS) break;
    if (nearest(palette, colour).distance > NEAR) palette.push(colour);
  }
  return palette;
}

function nearest(
  palette: readonly number[],
  colour: number,
): { readonly at: number; readonly distance: number } {
  let best = { at: 0, distance: Infinity };
  palette.forEach((other, at) => {
    const red = (colour >> 16) - (other >> 16);
    const green = ((colour >> 8) & 255) - ((other >> 8) & 255);
    const blue = (colour & 255) - (other & 255);
    const distance = red * red + green * green + blue * blue;
    if (distance < best.distance) best = { at, distance };
  });
  return best;
}

/** All data of the chunks of one type, one behind the other. */
function chunkOf(png: Buffer, type: string): Buffer {
  const parts: Buffer[] = [];
  for (let at = SIGNATURE.length; at < png.length;) {
    const length = png.readUInt32BE(at);
    if (png.toString("latin1", at + 4, at + 8) === type) parts.push(png.subarray(at + 8, at + 8 + length));
    at += length + 12;
  }
  return Buffer.concat(parts);
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(data.length, 0);
  ends.writeUInt32BE(crc32(named), 4);
  return Buffer.concat([ends.subarray(0, 4), named, ends.subarray(4)]);
}

/** Rows as they are: each is kept as its difference from its neighbours, by one of five rules. */
function unfilter(rows: Buffer, stride: number, height: number): Buffer {
  const out = Buffer.alloc(stride * height);
  for (let y = 0; y < height; y += 1) {
    const rule = rows[y * (stride + 1)] ?? 0;
    for (let x = 0; x < stride; x += 1) {
      const at = y * stride + x;
      const left = x >= 3 ? (out[at - 3] ?? 0) : 0;
      const up = y > 0 ? (out[at - stride] ?? 0) : 0;
      const corner = x >= 3 && y > 0 ? (out[at - stride - 3] ?? 0) : 0;
      const guess = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][rule] ?? 0;
      out[at] = ((rows[y * (stride + 1) + 1 + x] ?? 0) + guess) & 255;
    }
  }
  return out;
}

function paeth(left: number, up: number, corner: number): number {
  const guess = left + up - corner;
  const [a, b, c] = [Math.abs(guess - left), Math.abs(guess - up), Math.abs(guess - corner)];
  if (a <= b && a <= c) return left;
  return b <= c ? up : corner;
}
