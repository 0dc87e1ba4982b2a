/** The error class, and helpers for errors. */
import { attempt } from "./platform/host.js";
import type { ErrorCode } from "./types/seenguard.js";

/** The brand of errors of all copies of the package. */
const BRAND = Symbol.for("seenguard.error");

/** The page of the documentation about errors, in a reserved domain as long as the site has none. */
const ERRORS_PAGE = "https://seenguard.example/errors.html";

/** An error: `code` is stable and for programs; `message` is for people, and ends with the address of its section. */
export class SeenGuardError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, cause?: unknown) {
    super(`${message} (${ERRORS_PAGE}#${code})`, cause === undefined ? undefined : { cause });
    this.name = "SeenGuardError";
    this.code = code;
    Object.defineProperty(this, BRAND, { value: true });
  }
}

/**
 * An app may contain several copies of the package: as ES module and CommonJS, or of two versions. Set by
 * `defineProperty`, since compilers that turn classes into functions assign static methods, and this one is read-only
 * in functions.
 */
Object.defineProperty(SeenGuardError, Symbol.hasInstance, {
  value(this: unknown, value: unknown): boolean {
    // Subclasses of the app inherit this method.
    if (this !== SeenGuardError) return Function.prototype[Symbol.hasInstance].call(this as typeof Error, value);
    // Access to some proxies throws.
    return attempt(() => typeof value === "object" && value !== null && BRAND in value) ?? false;
  },
});

/** An error whose message ends with its cause. */
export function failure(code: ErrorCode, message: string, cause: unknown): SeenGuardError {
  return new SeenGuardError(code, `${message}: ${describe(cause)}`, cause);
}

/** An error as the platform's own promises reject with: `AbortError`, `TimeoutError`. */
export function domException(name: string, message: string): Error {
  // Hermes has no such class.
  return typeof DOMException === "undefined"
    ? Object.assign(new Error(message), { name })
    : new DOMException(message, name);
}

/** Throws `bad-option`: the caller made a mistake. */
export function refuse(message: string): never {
  throw new SeenGuardError("bad-option", message);
}

/** Reads an argument of the app. If its getters or proxies throw, this throws a `SeenGuardError`. */
export function readGiven<T>(code: ErrorCode, what: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    throw cause instanceof SeenGuardError ? cause : failure(code, `${what} cannot be read`, cause);
  }
}

/** Receives errors that do not stop the feed. */
export type ErrorListener = (error: SeenGuardError) => void;

/** The most messages that are reported, since some contain data of the app's items. */
const MAX_MESSAGES = 20;

/** The default listener: a console warning, once for each message; on a server once for each code. */
export function warnOnce(of: "message" | "code" = "message"): ErrorListener {
  const isNew = newMessages(of);
  return (error) => {
    // A console may read the error's cause, which can be anything.
    if (isNew(error)) attempt(() => console.warn(`seenguard: ${error.message}`, error));
  };
}

/** Returns whether an error is the first with its message or code; `false` after `MAX_MESSAGES`. */
export function newMessages(of: "message" | "code" = "message"): (error: SeenGuardError) => boolean {
  const known = new Set<string>();
  return (error) => known.size < MAX_MESSAGES && known.size < known.add(error[of]).size;
}

/** Calls an app's callback. Its exception becomes an uncaught error of the app and stops nothing here. */
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

/** The name of any thrown value, which also identifies errors of another realm. Access to some proxies throws. */
export function errorNameOf(cause: unknown): string {
  return attempt(() => (cause as Error).name) ?? "";
}

/** The message of any thrown value. */
export function describe(cause: unknown): string {
  // Some values cannot be converted to a string.
  return attempt(() => String(cause instanceof Error ? cause.message : cause)) ?? typeof cause;
}
