/** The interface of the commands of `npx seenguard`. */
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

/** The form of an error in `--json`. An error of another class than the package's is a bug of the package. */
export function failureOf(error: unknown): Failure {
  const { code, message } = error instanceof SeenGuardError ? error : failure("engine", "the command failed", error);
  return { code, message };
}

/** The command was called wrongly. */
export function badUsage(message: string): SeenGuardError {
  return new SeenGuardError("bad-option", message);
}
