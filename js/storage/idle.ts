/**
 * Removing namespaces that nobody uses any more, such as those of people who have signed out: one that was found idle
 * for its window on two openings of any namespace at least a day apart. An opening by a clock that has jumped does not
 * count: the last opening of any namespace must be less than the window ago, and this document's clock must agree with
 * the time that has passed since it began.
 */
import { allNamespaces, FOUND_IDLE, LAST_OPENED, LAST_USE, prefixOfKey } from "./keys.js";
import type { KeyValueStore } from "./key-value-store.js";
import type { SegmentLog } from "./segment-log.js";

const DAY_MS = 86_400_000;
/** Clocks that are set right move by less. */
const JUMP_MS = 3_600_000;

/** Days since 1970 on this device's clock. */
function today(): number {
  return Math.floor(Date.now() / DAY_MS);
}

/** Whether the clock was moved while this document ran. Without `performance` nobody can tell. */
function hasJumped(): boolean {
  if (typeof performance === "undefined") return false;
  return Math.abs(Date.now() - performance.timeOrigin - performance.now()) > JUMP_MS;
}

/** Notes the use of one namespace. */
export class UseNote {
  private readonly windowDays: number;
  private noted: string | undefined;

  constructor(windowDays: number) {
    this.windowDays = windowDays;
  }

  /** Notes once a day that the namespace is used. */
  async write({ store, prefix }: SegmentLog): Promise<void> {
    const use = `${today()}/${this.windowDays}`;
    if (use === this.noted) return;
    const [stored, foundIdle] = await store.read([prefix + LAST_USE, prefix + FOUND_IDLE]);
    if (stored !== use) await store.write({ [prefix + LAST_USE]: use });
    if (foundIdle !== undefined) await store.remove([prefix + FOUND_IDLE]);
    this.noted = use;
  }
}

/**
 * Looks at the other namespaces at an opening: marks those that are idle, removes those marked a day ago or earlier.
 */
export async function removeIdle(store: KeyValueStore, own: string, windowDays: number): Promise<void> {
  const keys = await store.keys(allNamespaces);
  const lastOpenedMs = keys.includes(LAST_OPENED) ? Number((await store.read([LAST_OPENED]))[0]) : NaN;
  const prefixes = new Set(keys.map(prefixOfKey));
  prefixes.delete(own);
  prefixes.delete("");
  // A device with one namespace has nothing to compare.
  if (prefixes.size === 0 && Number.isNaN(lastOpenedMs)) return;
  const sinceMs = Date.now() - lastOpenedMs;
  if (!(sinceMs >= 0 && sinceMs < JUMP_MS)) await store.write({ [LAST_OPENED]: `${Date.now()}` });
  const counts = sinceMs >= 0 && sinceMs < windowDays * DAY_MS && !hasJumped();
  for (const prefix of prefixes) {
    const ownKeys = keys.filter((key) => key.startsWith(prefix));
    await judge(store, prefix, ownKeys, windowDays, counts);
  }
}

/** Marks or removes one namespace if it is idle. `counts`: whether the clock can be believed. */
async function judge(
  store: KeyValueStore,
  prefix: string,
  keys: readonly string[],
  windowDays: number,
  counts: boolean,
): Promise<void> {
  const [use = "", foundIdle] = await store.read([prefix + LAST_USE, prefix + FOUND_IDLE]);
  const [lastUse = NaN, itsWindow = NaN] = use.split("/").map(parseFloat);
  const idleDays = today() - lastUse;
  const markedDays = today() - Number(foundIdle);
  if (Number.isNaN(idleDays)) {
    // Nothing tells how old it is: its time begins now.
    await store.write({ [prefix + LAST_USE]: `${today()}/${windowDays}` });
  } else if (idleDays <= (itsWindow || windowDays)) {
    if (foundIdle !== undefined) await store.remove([prefix + FOUND_IDLE]);
  } else if (!counts) {
    return;
  } else if (!(markedDays >= 0)) {
    await store.write({ [prefix + FOUND_IDLE]: `${today()}` });
  } else if (markedDays > 1) {
    // Two days with one between them: at least a day has passed, whatever hours they were.
    await store.remove(keys);
  }
}
