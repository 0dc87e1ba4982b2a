/** Formats numbers of commands for people. */

const WIDTH = 22;
const UNITS = ["bytes", "KB", "MB", "GB", "TB", "PB", "EB"];

export const line = (name: string, value: string): string => `  ${name.padEnd(WIDTH)}${value}`;
export const whole = (value: number): string => value.toLocaleString("en");

export function rate(value: number): string {
  return value === 0 ? "0" : `${value.toPrecision(3)} (1 in ${whole(Number((1 / value).toPrecision(3)))})`;
}

/** In units of 1,000. */
export function bytes(value: number): string {
  const unit = Math.min(Math.floor(Math.log10(Math.max(value, 1)) / 3), UNITS.length - 1);
  const digits = { maximumSignificantDigits: 3, minimumSignificantDigits: unit === 0 ? 1 : 3 };
  return `${(value / 1000 ** unit).toLocaleString("en", digits)} ${UNITS[unit] ?? ""}`;
}
