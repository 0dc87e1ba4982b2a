/** The interface of the commands of `npx seenguard`, and how they format numbers for people. */
import { failure, SeenGuardError } from "../errors.ts";
import type { ErrorCode } from "../types/server.js";

export interface Command {
  readonly help: string;
  /** Throws `bad-option` for wrong arguments. */
  run(args: readonly string[]): Promise<Outcome>;
}

export interface Outcome {
  /** The output of `--json`. */
  readonly value: object;
  readonly text: string;
  /** Errors of parts of the input. */
  readonly failures: readonly Failure[];
}

export interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
}

/** An error's form in `--json`. An error of another class than the package's is a bug in the package. */
export function failureOf(error: unknown): Failure {
  const { code, message } = error instanceof SeenGuardError ? error : failure("engine", "the command failed", error);
  return { code, message };
}

/** The error of wrong arguments. */
export function badUsage(message: string): SeenGuardError {
  return new SeenGuardError("bad-option", message);
}

const WIDTH = 22;
const UNITS = ["bytes", "KB", "MB", "GB", "TB", "PB", "EB"];

export const line = (name: string, value: string): string => `  ${name.padEnd(WIDTH)}${value}`;
export const whole = (value: number): string => value.toLocaleString("en");

export function rate(value: number): string {
  return value === 0 ? "0" : `${value.toPrecision(3)} (1 in ${whole(Number((1 / value).toPrecision(3)))})`;
}

/** A size in units of 1,000: bytes, KB, MB and so on. */
export function bytes(value: number): string {
  const unit = Math.min(Math.floor(Math.log10(Math.max(value, 1)) / 3), UNITS.length - 1);
  const digits = { maximumSignificantDigits: 3, minimumSignificantDigits: unit === 0 ? 1 : 3 };
  return `${(value / 1000 ** unit).toLocaleString("en", digits)} ${UNITS[unit] ?? ""}`;
}
