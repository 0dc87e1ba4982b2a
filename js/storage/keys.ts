/**
 * The names of keys in storage.
 *
 * | key, below `seenguard/<namespace>/` | value |
 * | --- | --- |
 * | `s/<generation>/<writer>/<number>` | a segment: what a writer recorded since its last one; with a `c` behind the number, a checkpoint, which stands for all of that writer's segments before it |
 * | `g` | the generation: how often the namespace was cleared; segments of older generations are void |
 * | `d` | `<day>/<window days>`: when somebody last used the namespace, in days since 1970 |
 * | `i` | the day on which the namespace was first found idle |
 * | `x/<number>` | a damaged segment that was set aside |
 */

import { tolerant } from "./attempt.js";

/** The prefix of all keys of all namespaces. */
export const allNamespaces = "seenguard/";
export const GENERATION = "g";
export const LAST_USE = "d";
export const FOUND_IDLE = "i";
export const SET_ASIDE = "x/";

const DIGITS = 36;

/** A segment's key, taken apart. */
export interface SegmentKey {
  readonly key: string;
  readonly generation: number;
  readonly writer: string;
  readonly number: number;
  readonly isCheckpoint: boolean;
}

/** A number of 16 bits. */
function hex(number: number): string {
  return number.toString(16).padStart(4, "0");
}

/** A writer's name, new for each `open`: 16 hexadecimal digits. Two must differ, and nobody has to be unable to guess. */
export function newWriter(): string {
  const parts = new Uint16Array(4).map(() => Math.random() * 2 ** 16);
  tolerant(() => crypto.getRandomValues(parts));
  return Array.from(parts, hex).join("");
}

/** The localStorage key that tells other tabs that something was written: its value is of no meaning. */
export function bellKey(namespace: string): string {
  return `seenguard-bell/${escapeName(namespace)}`;
}

/** Names may hold anything; keys are ASCII, and a slash ends a part. */
function escapeName(name: string): string {
  return name.replace(/[^\w.:@-]/g, (unit) => `%${hex(unit.charCodeAt(0))}`);
}

/** What all keys of a namespace begin with. */
export function prefixOf(namespace: string): string {
  return `${allNamespaces}${escapeName(namespace)}/`;
}

/** The prefix of the namespace that a key belongs to. */
export function prefixOfKey(key: string): string {
  return key.slice(0, key.indexOf("/", allNamespaces.length) + 1);
}

export function segmentKey(
  prefix: string,
  generation: number,
  writer: string,
  number: number,
  isCheckpoint: boolean,
): string {
  return `${prefix}s/${generation.toString(DIGITS)}/${writer}/${number.toString(DIGITS)}${isCheckpoint ? "/c" : ""}`;
}

/** The segments of a namespace among keys. */
export function segmentsIn(prefix: string, keys: readonly string[]): SegmentKey[] {
  return keys.flatMap((key) => {
    const [kind, generation = "", writer = "", digits = "", mark] = key.slice(prefix.length).split("/");
    const segment = {
      key,
      generation: parseInt(generation, DIGITS),
      writer,
      number: parseInt(digits, DIGITS),
      isCheckpoint: mark === "c",
    };
    const isOne = key.startsWith(prefix) && kind === "s" && Number.isSafeInteger(segment.generation + segment.number);
    return isOne ? [segment] : [];
  });
}
