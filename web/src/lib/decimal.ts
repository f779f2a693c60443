/** Money as the server writes it, digit for digit. Sums are exact; only what is shown is rounded. */

const DIGITS = 12;
const ONE = 10n ** BigInt(DIGITS);
const CENT = ONE / 100n;

/** Whole pico-dollars of `0.0031095`. */
export function parseMoney(text: string): bigint {
  const [, sign = "", whole = "0", part = ""] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) ?? [];
  const value = BigInt(whole) * ONE + BigInt(part.slice(0, DIGITS).padEnd(DIGITS, "0"));
  return sign === "-" ? -value : value;
}

/** For drawing, where a pixel is coarser than any rounding. */
export function toNumber(money: bigint): number {
  return Number(money) / Number(ONE);
}

/** `$1,204.50`, `<$0.01`, `−$3.10`; thousands without cents where `short` is set. */
export function formatExact(money: bigint, short = false): string {
  if (money < 0n) return `−${formatExact(-money, short)}`;
  if (money > 0n && money < CENT) return "<$0.01";
  const unit = short && money >= 1000n * ONE ? ONE : CENT;
  const rounded = (money + unit / 2n) / unit;
  const whole = unit === ONE ? rounded : rounded / 100n;
  const cents = unit === ONE ? "" : `.${String(rounded % 100n).padStart(2, "0")}`;
  return `$${whole.toLocaleString("en-US")}${cents}`;
}
