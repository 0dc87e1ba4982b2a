/** The one error class, and what the parts of the package do with errors. */
import { attempt } from "./platform/host.js";
import type { ErrorCode } from "./types/seenguard.js";

/** What the errors of all copies of the package have in common. */
const BRAND = Symbol.for("seenguard.error");

/** What went wrong: `code` is stable and for programs; `message` is for people, and ends with where to read more. */
export class SeenGuardError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, cause?: unknown) {
    super(`${message} (docs/errors.md#${code})`, cause === undefined ? undefined : { cause });
    this.name = "SeenGuardError";
    this.code = code;
    Object.defineProperty(this, BRAND, { value: true });
  }
}

/**
 * An app may hold several copies of the package: as ES module and CommonJS, or of two versions. Defined, since a
 * compiler that makes functions of classes assigns static methods, and this one is read-only in functions.
 */
Object.defineProperty(SeenGuardError, Symbol.hasInstance, {
  value(this: unknown, value: unknown): boolean {
    // A class that an app derives has this method, too.
    if (this !== SeenGuardError) return Function.prototype[Symbol.hasInstance].call(this as typeof Error, value);
    // Some proxies do not tell what they have.
    return attempt(() => typeof value === "object" && value !== null && BRAND in value) ?? false;
  },
});

/** An error that says at its end what it comes from. */
export function failure(code: ErrorCode, message: string, cause: unknown): SeenGuardError {
  return new SeenGuardError(code, `${message}: ${describe(cause)}`, cause);
}

/** The caller is at fault. */
export function refuse(message: string): never {
  throw new SeenGuardError("bad-option", message);
}

/** Reads what an app has passed, whose getters and proxies may throw anything: then this throws a `SeenGuardError`. */
export function readGiven<T>(code: ErrorCode, what: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw cause instanceof SeenGuardError ? cause : failure(code, `${what} cannot be read`, cause);
  }
}

/** Receives what went wrong without stopping the feed. */
export type ErrorListener = (error: SeenGuardError) => void;

/** Most messages that are passed on: some name what the app's items have. */
const MOST_MESSAGES = 20;

/** Passes errors on, of misuse each message once: an app repeats a mistake with every render. */
export function misuseOnce(listener: ErrorListener): ErrorListener {
  const isNew = newMessages();
  return (error) => {
    if (error.code !== "misuse" || isNew(error)) listener(error);
  };
}

/** The default listener: a warning on the console, once for each message; of a server's users, for each code. */
export function warnOnce(of: "message" | "code" = "message"): ErrorListener {
  const isNew = newMessages(of);
  return (error) => {
    // A console may read the error's cause, which can be anything.
    if (isNew(error)) attempt(() => console.warn(`seenguard: ${error.message}`, error));
  };
}

function newMessages(of: "message" | "code" = "message"): (error: SeenGuardError) => boolean {
  const told = new Set<string>();
  return (error) => told.size < MOST_MESSAGES && told.size < told.add(error[of]).size;
}

/** Calls an app's callback. What it throws becomes an uncaught error of the app and stops nothing here. */
export function callBack<Arguments extends unknown[], Result>(
  callback: ((...args: Arguments) => Result) | undefined,
  ...args: Arguments
): Result | undefined {
  try {
    return callback?.(...args);
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
    return undefined;
  }
}

/** The name of any thrown value, by which one of another realm is known, too. Some proxies do not tell what they have. */
export function errorNameOf(cause: unknown): string {
  return attempt(() => (cause as Error).name) ?? "";
}

/** The message of any thrown value. */
export function describe(cause: unknown): string {
  // Not everything that can be thrown has a text.
  return attempt(() => String(cause instanceof Error ? cause.message : cause)) ?? typeof cause;
}
