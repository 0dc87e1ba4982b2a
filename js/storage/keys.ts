/**
 * The names of keys in storage.
 *
 * | key, below `seenguard/<namespace>/` | value |
 * | --- | --- |
 * | `s/<generation>/<level>/<writer>/<number>` | a segment; numbers in base 36 |
 * | `h/<generation>/index` | the snapshot in use: which shards it has, and what else belongs to it |
 * | `h/<generation>/<reference>` | one of its shards, under its reference without the `~` |
 * | `g` | the generation: `<number>/<Unix ms of the clear that began it>`; what belongs to older ones is void |
 * | `d` | `<day>/<window days>`: the namespace's last use, in days since 1970 |
 * | `i` | the day on which the namespace was first found idle |
 * | `x/<number>` | a damaged segment that was set aside |
 *
 * `seenguard/opened` holds when any namespace was last opened, Unix ms.
 */
import { attempt } from "./attempt.js";

/** The prefix of all keys of all namespaces. */
export const allNamespaces = "seenguard/";
export const LAST_OPENED = `${allNamespaces}opened`;
export const GENERATION = "g";
export const LAST_USE = "d";
export const FOUND_IDLE = "i";
export const SET_ASIDE = "x/";
export const HELD = "h/";

const DIGITS = 36;
/** What comes after a namespace's prefix in the key of a segment. */
const SEGMENT = /^s\/([0-9a-z]{1,10})\/([0-9a-z]{1,2})\/([0-9a-f]{16})\/([0-9a-z]{1,10})$/;
/** The same in the keys of the snapshot in use. */
const HELD_KEY = /^h\/([0-9a-z]{1,10})\/(?:index|[0-9a-f]{12})$/;

/** A key of what belongs to a generation. */
export interface GenerationKey {
  readonly key: string;
  readonly generation: number;
}

/** A segment's key, taken apart. */
export interface SegmentKey extends GenerationKey {
  /** The segment's size class: log4 of its recordings. */
  readonly level: number;
  readonly writer: string;
  readonly number: number;
}

/** A number of 16 bits. */
function hex(number: number): string {
  return number.toString(16).padStart(4, "0");
}

/** A writer's name, new for each `open`: 16 hexadecimal digits. It must be unique, not secret. */
export function newWriter(): string {
  const parts = new Uint16Array(4).map(() => Math.random() * 2 ** 16);
  attempt(() => crypto.getRandomValues(parts));
  return Array.from(parts, hex).join("");
}

/** The localStorage key of the signal that something was written: its value has no meaning. */
export function signalKey(namespace: string): string {
  return `seenguard-signal/${escapeName(namespace)}`;
}

/** Namespaces may hold anything; keys are ASCII, and a slash ends a part. */
function escapeName(name: string): string {
  return name.replace(/[^\w.:@-]/g, (unit) => `%${hex(unit.charCodeAt(0))}`);
}

/** The prefix of all keys of a namespace. */
export function prefixOf(namespace: string): string {
  return `${allNamespaces}${escapeName(namespace)}/`;
}

/** The prefix of the namespace that a key belongs to; empty if it belongs to none. */
export function prefixOfKey(key: string): string {
  return key.slice(0, key.indexOf("/", allNamespaces.length) + 1);
}

export function segmentKey(prefix: string, { generation, level, writer, number }: Omit<SegmentKey, "key">): string {
  const [g, l, n] = [generation, level, number].map((part) => part.toString(DIGITS));
  return `${prefix}s/${g}/${l}/${writer}/${n}`;
}

/** The keys of a namespace that match a pattern after its prefix: what comes there, and its groups. */
function matchesIn(prefix: string, keys: readonly string[], pattern: RegExp): RegExpExecArray[] {
  const rests = keys.filter((key) => key.startsWith(prefix)).map((key) => key.slice(prefix.length));
  return rests.map((rest) => pattern.exec(rest)).filter((match) => match !== null);
}

/** The segments of a namespace among keys. */
export function segmentsIn(prefix: string, keys: readonly string[]): SegmentKey[] {
  const matches = matchesIn(prefix, keys, SEGMENT);
  return matches.map(([rest, generation = "", level = "", writer = "", number = ""]) => ({
    key: prefix + rest,
    generation: parseInt(generation, DIGITS),
    level: parseInt(level, DIGITS),
    writer,
    number: parseInt(number, DIGITS),
  }));
}

/** The key of a shard of the snapshot in use, by its reference; of its index without one. */
export function heldKey(prefix: string, generation: number, reference = "index"): string {
  return `${prefix}${HELD}${generation.toString(DIGITS)}/${reference}`;
}

/** The keys of stored snapshots among keys. */
export function heldKeysIn(prefix: string, keys: readonly string[]): GenerationKey[] {
  const matches = matchesIn(prefix, keys, HELD_KEY);
  return matches.map(([rest, generation = ""]) => ({ key: prefix + rest, generation: parseInt(generation, DIGITS) }));
}
