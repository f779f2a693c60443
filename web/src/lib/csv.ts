/** Rows as CSV (RFC 4180). A cell that a spreadsheet would take for a formula is made text. */

export type Cell = string | number | null;

export function writeCsv(rows: readonly (readonly Cell[])[]): string {
  return rows.map((row) => row.map(writeCell).join(",") + "\r\n").join("");
}

function writeCell(cell: Cell): string {
  if (cell === null) return "";
  if (typeof cell === "number") return String(cell);
  const safe = /^[=+\-@\t\r]/.test(cell) && !/^-?\d+(?:\.\d+)?$/.test(cell) ? `'${cell}` : cell;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
