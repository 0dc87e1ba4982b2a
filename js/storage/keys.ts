/**
 * Keys, and the generation of a namespace: the Unix time (ms) of its latest clear, which is in each of its keys.
 *
 * | key | value |
 * | --- | --- |
 * | `seenguard/<namespace>/<generation>/r/<writer>/<n>` | a row |
 * | `seenguard/<namespace>/<generation>/h` | the snapshot in use |
 * | `seenguard/<namespace>/<generation>/s/<writer>/<n>` | localStorage: a stash |
 * | `seenguard-signal/<namespace>` | localStorage: the cross-tab signal, `<generation>.<random>` |
 * | `seenguard-clear/<namespace>` | localStorage: the same, while a clear is not complete |
 *
 * `writer`: 64 random bits of a table. `n`: Unix ms, or 1 above the writer's last one. Numbers are in base 36.
 */
import { attempt } from "../platform/host.js";

export const ROOT = "seenguard/";
export const SIGNAL = "seenguard-signal/";
export const CLEAR = "seenguard-clear/";
/** A generation has a constant length, so that the keys of all lower ones are one range. */
const GENERATION_DIGITS = 11;
const GENERATION = /^[0-9a-z]{11}(?=[/.]|$)/;
const KEY = /^seenguard\/([^/]+)\/([0-9a-z]{11})\/(?:(h)$|([rs])\/[^/]+\/([0-9a-z]+)$)?/;

/** A parsed key. */
export interface ParsedKey {
  readonly key: string;
  readonly name: string;
  readonly generation: number;
  /** "h": the snapshot, "r": a row, "s": a stash; undefined: a later version's. */
  readonly kind: string | undefined;
  /** Unix ms, see above; 0: the key has none. */
  readonly n: number;
}

/** A namespace's name in keys: ASCII without a slash. */
export function nameOf(namespace: string): string {
  return namespace.replace(/[^\w.:@-]/g, (unit) => `%${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

export function prefixOf(name: string): string {
  return `${ROOT}${name}/`;
}

/** The prefix of all keys of a generation, which sorts above the keys of lower ones. */
export function generationPrefixOf(name: string, generation: number): string {
  return `${prefixOf(name)}${digits(generation)}/`;
}

/** Parses keys; those of other packages are left out. */
export function parseKeys(keys: readonly string[]): ParsedKey[] {
  return keys.flatMap((key): ParsedKey[] => {
    const [, name, digits, snapshot, kind = snapshot, n = ""] = KEY.exec(key) ?? [];
    const generation = generationIn(digits);
    return name === undefined || generation === undefined
      ? []
      : [{ key, name, generation, kind, n: parseInt(n, 36) || 0 }];
  });
}

export function highestGeneration(keys: readonly ParsedKey[]): number {
  return keys.reduce((highest, { generation }) => Math.max(highest, generation), 0);
}

/** Makes keys that no other table uses. */
export class KeyMaker {
  private readonly writer = randomDigits() + randomDigits();
  private latest = 0;

  make(name: string, generation: number, kind: "r" | "s", wallMs: number): string {
    this.latest = Math.max(this.latest + 1, Math.floor(wallMs));
    return `${generationPrefixOf(name, generation)}${kind}/${this.writer}/${this.latest.toString(36)}`;
  }
}

/** 32 random bits. */
function randomDigits(): string {
  const { crypto } = globalThis as Partial<typeof globalThis>;
  const [bits = Math.random() * 2 ** 32] = attempt(() => crypto?.getRandomValues(new Uint32Array(1))) ?? [];
  return Math.floor(bits).toString(36).padStart(7, "0");
}

function digits(generation: number): string {
  return generation.toString(36).padStart(GENERATION_DIGITS, "0");
}

/** The generation at the start of a string; undefined: there is none. */
export function generationIn(value: string | null | undefined): number | undefined {
  const [digits] = GENERATION.exec(value ?? "") ?? [];
  const generation = digits === undefined ? NaN : parseInt(digits, 36);
  // A larger one was not written by this package, and no generation above it could be represented.
  return generation < Number.MAX_SAFE_INTEGER ? generation : undefined;
}

/** Writes a generation. Its length is constant, so that it can be overwritten in a full storage. A failure is ignored. */
export function writeGeneration(key: string, generation: number): void {
  // Other tabs receive an event only if the value has changed.
  writeLocal(key, `${digits(generation)}.${randomDigits()}`);
}

/** The generation in localStorage under a key; undefined: there is none. */
export function readGeneration(key: string): number | undefined {
  return generationIn(readLocal(key));
}

/** The names of the namespaces that have a key with this prefix, `SIGNAL` or `CLEAR`. */
export function namesUnder(prefix: string): string[] {
  return localKeys(prefix).map((key) => key.slice(prefix.length));
}

/** The highest generation in localStorage: of the signal, an incomplete clear, and stashes. */
export function localGeneration(name: string): number {
  const stashes = highestGeneration(parseKeys(localKeys(prefixOf(name))));
  return Math.max(readGeneration(SIGNAL + name) ?? 0, readGeneration(CLEAR + name) ?? 0, stashes);
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

/** Returns whether the value was written. */
export function writeLocal(key: string, value: string): boolean {
  const write = () => {
    localStorage.setItem(key, value);
    return true;
  };
  return attempt(write) ?? false;
}

export function removeLocal(keys: readonly string[]): void {
  for (const key of keys) attempt(() => localStorage.removeItem(key));
}
