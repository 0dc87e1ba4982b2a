/**
 * The verdicts of a namespace's lists by key. They outlive feeds and guards. The fresh ids are in sessionStorage, too,
 * for back navigation and for a document that replaces one that was discarded or crashed.
 */
import { attempt, listen, nextTask } from "../platform/host.js";
import { keepLatest } from "./keep-latest.js";
import { Verdicts } from "./verdicts.js";

/** The most keys of a namespace; the least recently used one is removed. */
export const MOST_KEYS = 32;
/** The most ids of a key that are saved. */
const MAX_SAVED = 2_000;

/** `isAlive`: no `pagehide` has come in the document that shows it. */
type Saved = readonly [key: string, isAlive: boolean, generation: number, fresh: readonly string[]];

export class KeyedVerdicts {
  private readonly namespace: string;
  private readonly byKey = new Map<string, Verdicts>();
  private isAlive = true;
  private isSaving = false;

  constructor(namespace: string) {
    this.namespace = namespace;
    const isBack = isWayBack();
    // A window with an opener began with a copy of the opener's sessionStorage, and the opener is still alive.
    const isOwn = !(globalThis as { opener?: unknown }).opener;
    for (const [key, hasDied, ...saved] of readSaved(namespace)) {
      if (isBack || (hasDied && isOwn)) this.byKey.set(key, new Verdicts(this.changed, ...saved));
    }
    // Lists that are not restored now stay saved for back navigation.
    this.save();
    listen(["pagehide", "pageshow"], ({ type }) => {
      this.isAlive = type === "pageshow";
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
    const verdicts = new Verdicts(this.changed);
    this.use(key, verdicts);
    this.changed();
    return verdicts;
  }

  /** Marks a list as used. A removed one is added again, unless the key has another list now. */
  use(key: string, verdicts: Verdicts): void {
    if ((this.byKey.get(key) ?? verdicts) === verdicts) keepLatest(this.byKey, key, verdicts, MOST_KEYS);
  }

  /** Deletes all verdicts. */
  clear(): void {
    for (const verdicts of this.byKey.values()) verdicts.clear();
  }

  private readonly changed = (): void => {
    if (this.isSaving) return;
    this.isSaving = true;
    void nextTask().then(() => this.save());
  };

  /** Saves them, and keeps the other keys that earlier documents of this tab have saved. */
  private save(): void {
    this.isSaving = false;
    const { namespace, byKey, isAlive } = this;
    const others = readSaved(namespace).filter(([key]) => !byKey.has(key));
    const all = others.map(([key, , ...saved]): Saved => [key, false, ...saved]);
    for (const [key, { generation, fresh }] of byKey)
      if (fresh.size > 0) all.push([key, isAlive, generation, [...fresh].slice(-MAX_SAVED)]);
    // First: if the new text does not fit, no outdated one may stay.
    removeSaved(namespace);
    const text = JSON.stringify(all.slice(-MOST_KEYS));
    if (all.length > 0) attempt(() => sessionStorage.setItem(nameOf(namespace), text));
  }
}

/** Removes the saved verdicts of a namespace. */
export function removeSaved(namespace: string): void {
  attempt(() => sessionStorage.removeItem(nameOf(namespace)));
}

/** Reads the saved verdicts. The stored text is not trusted. */
function readSaved(namespace: string): Saved[] {
  const all = attempt(() => JSON.parse(sessionStorage.getItem(nameOf(namespace)) ?? "") as unknown);
  return Array.isArray(all) ? (all as Saved[]).filter((saved) => Array.isArray(attempt(() => saved[3]))) : [];
}

function nameOf(namespace: string): string {
  return `seenguard-feeds/${namespace}`;
}

function isWayBack(): boolean {
  const [navigation] = attempt(() => performance.getEntriesByType("navigation")) ?? [];
  return (navigation as Partial<PerformanceNavigationTiming> | undefined)?.type === "back_forward";
}
