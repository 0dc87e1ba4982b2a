/**
 * The verdicts of a namespace's lists by key. They outlive feeds and guards. The fresh ids are in sessionStorage, too,
 * for back navigation and for a document that replaces one that was discarded or crashed.
 *
 * | key in sessionStorage | value, as JSON |
 * | --- | --- |
 * | `seenguard-feeds/<namespace>` | the lists: of each its key, and whether it is alive |
 * | `seenguard-feeds/<namespace>/<key>` | a list's generation and fresh ids |
 */
import { attempt, isHidden, listen, nextTask, pause } from "../platform/host.js";
import { nameOf } from "../storage/keys.js";
import { Verdicts } from "./verdicts.js";

/** The most keys of a namespace; the least recently used one is removed. */
export const MAX_KEYS = 32;
/** The most ids of a key that are saved. */
const MAX_SAVED = 2_000;
/** Changed lists are saved at most once in this time, and as the page hides. */
const SAVE_INTERVAL_MS = 1_000;

const NOTHING = new Verdicts();

/**
 * `isAlive`: the document that shows it has had no `pagehide`; if that is gone nonetheless, it crashed or was
 * discarded.
 */
type IndexEntry = readonly [key: string, isAlive: boolean];
type SavedList = readonly [generation: number, fresh: readonly string[]];

export class KeyedVerdicts {
  /** The index's key in sessionStorage. */
  private readonly index: string;
  private readonly byKey = new Map<string, Verdicts>();
  private isAlive = true;
  /** The keys of lists that have changed since they were saved. */
  private readonly changed = new Set<string>();
  /** Resolves when the next save is due. */
  private due = Promise.resolve();

  constructor(namespace: string) {
    this.index = indexOf(namespace);
    const isBack = isBackNavigation();
    // A window with an opener began with a copy of the opener's sessionStorage, and the opener is still alive.
    const isOwn = !(globalThis as { opener?: unknown }).opener;
    for (const [key, wasAlive] of readIndex(this.index)) {
      const list = isBack || (wasAlive && isOwn) ? readList(this.index, key) : undefined;
      if (list) this.byKey.set(key, new Verdicts(() => this.noteChange(key), ...list));
    }
    // Lists that are not restored now stay saved for back navigation.
    this.saveIndex();
    listen(["pagehide", "pageshow", "visibilitychange"], ({ type }) => {
      if (type !== "visibilitychange") this.isAlive = type === "pageshow";
      else if (!isHidden()) return;
      this.save();
    });
  }

  /** The verdicts of a key. */
  of(key: string): Verdicts {
    const verdicts = this.byKey.get(key) ?? this.begin(key);
    this.use(key, verdicts);
    return verdicts;
  }

  /** Starts a new list: its verdicts replace those of the key. */
  begin(key: string): Verdicts {
    this.byKey.delete(key);
    const verdicts = new Verdicts(() => this.noteChange(key));
    this.use(key, verdicts);
    write(`${this.index}/${key}`, undefined);
    return verdicts;
  }

  /** Marks a list as used. A removed one is added again, unless the key has another list now. */
  use(key: string, verdicts: Verdicts): void {
    if ((this.byKey.get(key) ?? verdicts) === verdicts) setLatest(this.byKey, key, verdicts, MAX_KEYS);
  }

  /** Deletes all verdicts. */
  clear(): void {
    for (const verdicts of this.byKey.values()) verdicts.clear();
  }

  /** Schedules a save of a list that has changed. */
  private noteChange(key: string): void {
    this.changed.add(key);
    if (this.changed.size === 1) void this.due.then(nextTask).then(() => this.save());
  }

  /** Saves the lists that have changed, and the index. */
  private save(): void {
    for (const key of this.changed) {
      const { generation, fresh } = this.byKey.get(key) ?? NOTHING;
      write(`${this.index}/${key}`, fresh.size > 0 ? [generation, [...fresh].slice(-MAX_SAVED)] : undefined);
    }
    if (this.changed.size > 0) this.due = pause(SAVE_INTERVAL_MS);
    this.changed.clear();
    this.saveIndex();
  }

  /** Saves the keys of the lists, after those that earlier documents of this tab have saved; removes the oldest ones. */
  private saveIndex(): void {
    const { index, byKey, isAlive } = this;
    const own = [...byKey].filter(([, { fresh }]) => fresh.size > 0);
    const all: IndexEntry[] = [
      ...readIndex(index).flatMap(([key]): IndexEntry[] => (byKey.has(key) ? [] : [[key, false]])),
      ...own.map(([key]): IndexEntry => [key, isAlive]),
    ];
    const dropped = all.splice(0, Math.max(0, all.length - MAX_KEYS));
    for (const [key] of dropped) write(`${index}/${key}`, undefined);
    write(index, all.length > 0 ? all : undefined);
  }
}

/** Removes the saved verdicts of a namespace. */
export function removeSaved(namespace: string): void {
  const index = indexOf(namespace);
  for (const [key] of readIndex(index)) write(`${index}/${key}`, undefined);
  write(index, undefined);
}

function indexOf(namespace: string): string {
  return `seenguard-feeds/${nameOf(namespace)}`;
}

/** Replaces a saved value; `undefined`: removes it. */
function write(name: string, value: readonly unknown[] | undefined): void {
  // Removed first: if the new value does not fit, no outdated one may stay.
  attempt(() => sessionStorage.removeItem(name));
  if (value) attempt(() => sessionStorage.setItem(name, JSON.stringify(value)));
}

/** Reads a saved value, which is not trusted. */
function read(name: string): unknown[] {
  const value = attempt(() => JSON.parse(sessionStorage.getItem(name) ?? "") as unknown);
  return Array.isArray(value) ? value : [];
}

function readIndex(index: string): IndexEntry[] {
  return read(index).filter((entry): entry is IndexEntry => Array.isArray(entry) && typeof entry[0] === "string");
}

function readList(index: string, key: string): SavedList | undefined {
  const [generation, fresh] = read(`${index}/${key}`);
  return typeof generation === "number" && Array.isArray(fresh) ? [generation, fresh as string[]] : undefined;
}

function isBackNavigation(): boolean {
  const [navigation] = attempt(() => performance.getEntriesByType("navigation")) ?? [];
  return (navigation as Partial<PerformanceNavigationTiming> | undefined)?.type === "back_forward";
}

/**
 * Moves a map's entry to the end, and removes the least recently used entries above a limit, except those in use.
 * Returns the removed ones.
 */
export function setLatest<Value>(
  map: Map<string, Value>,
  key: string,
  value: Value,
  most: number,
  isInUse = (_: Value) => false,
): Value[] {
  map.delete(key);
  map.set(key, value);
  if (map.size <= most) return [];
  const dropped = [...map].filter(([, each]) => !isInUse(each)).slice(0, map.size - most);
  return dropped.map(([oldest, each]) => {
    map.delete(oldest);
    return each;
  });
}
