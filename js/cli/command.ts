/** What a command of `npx seenguard` is. */
import { failure, SeenGuardError } from "../errors.ts";
import type { ErrorCode } from "../types/server.js";

export interface Command {
  readonly help: string;
  /** Throws what is wrong with its arguments as `bad-option`. */
  run(args: readonly string[]): Promise<Outcome>;
}

export interface Outcome {
  /** What `--json` prints. */
  readonly value: object;
  readonly text: string;
  /** What is wrong with some of the input. */
  readonly failures: readonly Failure[];
}

export interface Failure {
  readonly code: ErrorCode;
  readonly message: string;
}

/** What `--json` prints of an error. Of another class than the package's, it is a bug of the package. */
export function failureOf(error: unknown): Failure {
  const { code, message } = error instanceof SeenGuardError ? error : failure("engine", "the command failed", error);
  return { code, message };
}

/** The command was called wrongly. */
export function badUsage(message: string): SeenGuardError {
  return new SeenGuardError("bad-option", message);
}
