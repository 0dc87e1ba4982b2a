/**
 * The keys of a namespace, as far as they are known without an engine: what all begin with, the number of the latest
 * clear in them, and the signal in localStorage, `<number>.<random>`.
 */
import { attempt } from "../platform/host.js";

export const ROOT = "seenguard/";
const SIGNAL = "seenguard-signal/";
/** Digits to the base 36. */
const NUMBER_DIGITS = 11;
const NUMBER = /^[0-9a-z]{11}(?=[/.])/;

/** Where there is no localStorage: the signals of this document, for a guard that it opens while a clear is under way. */
const signals = new Map<string, number>();

/** A namespace as keys have it: ASCII without a slash. */
export function nameOf(namespace: string): string {
  return namespace.replace(/[^\w.:@-]/g, (unit) => `%${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

export function prefixOf(name: string): string {
  return `${ROOT}${name}/`;
}

/** What all keys under this number begin with: above those under lower ones. */
export function under(name: string, number: number): string {
  return `${prefixOf(name)}${digits(number)}/`;
}

function digits(number: number): string {
  return number.toString(36).padStart(NUMBER_DIGITS, "0");
}

/** The number that a text begins with; undefined: none. */
function numberIn(text: string | null | undefined): number | undefined {
  const [number] = NUMBER.exec(text ?? "") ?? [];
  const parsed = number === undefined ? NaN : parseInt(number, 36);
  // A higher one is no number of ours: nothing above it could be written.
  return parsed <= Number.MAX_SAFE_INTEGER ? parsed : undefined;
}

/** The highest number of some keys. */
export function highestOf(keys: readonly string[], name: string): number {
  const start = prefixOf(name).length;
  return keys.reduce((highest, key) => Math.max(highest, numberIn(key.slice(start)) ?? 0), 0);
}

export function signalKey(name: string): string {
  return SIGNAL + name;
}

/** The number of a signal that was written; undefined: there is none. */
export function readSignal(name: string): number | undefined {
  return hasLocal() ? numberIn(readLocal(signalKey(name))) : signals.get(name);
}

export { numberIn as signalOf };

/** Writes the signal. Its text has always one length, so that a storage that has filled up since has room for it. */
export function writeSignal(name: string, number: number): boolean {
  signals.set(name, number);
  const random = Math.random().toString(36).slice(2, 10).padEnd(8, "0");
  return writeLocal(signalKey(name), `${digits(number)}.${random}`);
}

/** The names of the namespaces that have a signal. */
export function signalledNames(): string[] {
  return localKeys(SIGNAL).map((key) => key.slice(SIGNAL.length));
}

/** Whether there is a localStorage: one that is full or empty is. */
export function hasLocal(): boolean {
  return attempt(() => typeof localStorage.length === "number") ?? false;
}

/** The keys in localStorage with a prefix. Where it is denied, there are none. */
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
