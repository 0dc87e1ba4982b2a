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

const ROOT = "seenguard/";
const DIGITS = 36;

/** A segment's key, taken apart. */
export interface SegmentKey {
  readonly key: string;
  readonly generation: number;
  readonly writer: string;
  readonly number: number;
  readonly isCheckpoint: boolean;
}

/** The keys of one namespace. */
export interface NamespaceKeys {
  readonly prefix: string;
  readonly generation: string;
  readonly lastUse: string;
  readonly foundIdle: string;
  readonly setAside: string;
  segment(generation: number, writer: string, number: number, isCheckpoint: boolean): string;
  parseSegment(key: string): SegmentKey | undefined;
}

/** The prefix of all keys of all namespaces. */
export const allNamespaces = ROOT;

/** The localStorage key that tells other tabs that something was written: its value is of no meaning. */
export function bellKey(namespace: string): string {
  return `seenguard-bell/${escapeName(namespace)}`;
}

/** Names may hold anything; keys are ASCII, and a slash ends a part. */
function escapeName(name: string): string {
  return name.replace(/[^\w.:@-]/g, (unit) => `%${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

export function keysOf(namespace: string): NamespaceKeys {
  return keysBelow(`${ROOT}${escapeName(namespace)}/`);
}

/** The keys of the namespace that a key belongs to. */
export function keysOfOwner(key: string): NamespaceKeys {
  return keysBelow(key.slice(0, key.indexOf("/", ROOT.length) + 1));
}

function keysBelow(prefix: string): NamespaceKeys {
  return {
    prefix,
    generation: `${prefix}g`,
    lastUse: `${prefix}d`,
    foundIdle: `${prefix}i`,
    setAside: `${prefix}x/`,
    segment: (generation, writer, number, isCheckpoint) =>
      `${prefix}s/${generation.toString(DIGITS)}/${writer}/${number.toString(DIGITS)}${isCheckpoint ? "/c" : ""}`,
    parseSegment: (key) => {
      const [kind, generation, writer, number, checkpoint] = key.slice(prefix.length).split("/");
      if (kind !== "s" || generation === undefined || writer === undefined || number === undefined) return undefined;
      const parsed = {
        key,
        generation: parseInt(generation, DIGITS),
        writer,
        number: parseInt(number, DIGITS),
        isCheckpoint: checkpoint === "c",
      };
      return Number.isSafeInteger(parsed.generation) && Number.isSafeInteger(parsed.number) ? parsed : undefined;
    },
  };
}
