/**
 * Keys of a namespace that need no engine: their prefix, the number of the latest clear in them, and the cross-tab
 * signal in localStorage, `<number>.<random>`.
 */
import { attempt } from "../platform/host.js";

export const ROOT = "seenguard/";
const SIGNAL = "seenguard-signal/";
/** Length of a number in a key, in base 36. */
const NUMBER_DIGITS = 11;
const NUMBER = /^[0-9a-z]{11}(?=[/.])/;

/** This document's signals where there is no localStorage, for a guard that it opens during a clear. */
const signals = new Map<string, number>();

/** A namespace's name in keys: ASCII without a slash. */
export function nameOf(namespace: string): string {
  return namespace.replace(/[^\w.:@-]/g, (unit) => `%${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

export function prefixOf(name: string): string {
  return `${ROOT}${name}/`;
}

/** The prefix of all keys of this number. It sorts above those of lower numbers. */
export function under(name: string, number: number): string {
  return `${prefixOf(name)}${digits(number)}/`;
}

function digits(number: number): string {
  return number.toString(36).padStart(NUMBER_DIGITS, "0");
}

/** The number at the start of a text; undefined: none. */
function numberIn(text: string | null | undefined): number | undefined {
  const [number] = NUMBER.exec(text ?? "") ?? [];
  const parsed = number === undefined ? NaN : parseInt(number, 36);
  // A larger number was not written by this package, and no number above it could be represented.
  return parsed <= Number.MAX_SAFE_INTEGER ? parsed : undefined;
}

/** The highest number in these keys. */
export function highestOf(keys: readonly string[], name: string): number {
  const start = prefixOf(name).length;
  return keys.reduce((highest, key) => Math.max(highest, numberIn(key.slice(start)) ?? 0), 0);
}

export function signalKey(name: string): string {
  return SIGNAL + name;
}

/** The number of the latest signal; undefined: there is none. */
export function readSignal(name: string): number | undefined {
  return hasLocal() ? numberIn(readLocal(signalKey(name))) : signals.get(name);
}

export { numberIn as signalOf };

/** Writes the signal. Its length is constant, so that it can be overwritten in a full storage. */
export function writeSignal(name: string, number: number): boolean {
  signals.set(name, number);
  const random = Math.random().toString(36).slice(2, 10).padEnd(8, "0");
  return writeLocal(signalKey(name), `${digits(number)}.${random}`);
}

/** The names of the namespaces that have a signal. */
export function signalledNames(): string[] {
  return localKeys(SIGNAL).map((key) => key.slice(SIGNAL.length));
}

/** Whether localStorage is available, even if it is full or empty. */
export function hasLocal(): boolean {
  return attempt(() => typeof localStorage.length === "number") ?? false;
}

/** The keys in localStorage with a prefix; none if access is denied. */
export function localKeys(prefix: string): string[] {
  return (attempt(() => Object.keys(localStorage)) ?? []).filter((key) => key.startsWith(prefix));
}

export function readLocal(key: string): string | undefined {
  return attempt(() => localStorage.getItem(key)) ?? undefined;
}

export function writeLocal(key: string, text: string): boolean {
  return (
    attempt(() => {
      localStorage.setItem(key, text);
      return true;
    }) ?? false
  );
}

export function removeLocal(keys: readonly string[]): void {
  for (const key of keys) attempt(() => localStorage.removeItem(key));
}
