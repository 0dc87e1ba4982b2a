/**
 * The verdicts of a namespace's lists by their key: they outlive feeds and guards. What was fresh is in sessionStorage,
 * too, for a way back in the history and for a document that takes the place of one that has died.
 */
import { attempt, listen, nextTask } from "../platform/host.js";
import { keepLatest } from "./keep-latest.js";
import { Verdicts } from "./verdicts.js";

/** Most keys of a namespace; the one that was used longest ago leaves. */
export const MOST_KEYS = 32;
/** Most ids of a key that are saved. */
const MAX_SAVED = 2_000;

/** `isAlive`: the document that shows it has not left. */
type Saved = readonly [key: string, isAlive: boolean, clearNumber: number, fresh: readonly string[]];

export class KeyedVerdicts {
  private readonly namespace: string;
  private readonly byKey = new Map<string, Verdicts>();
  private isAlive = true;
  private isSaving = false;

  constructor(namespace: string) {
    this.namespace = namespace;
    const isBack = isWayBack();
    // A window that another one has opened began with a copy of that one's, which is still alive.
    const isOwn = !(globalThis as { opener?: unknown }).opener;
    for (const [key, hasDied, ...saved] of readSaved(namespace)) {
      if (isBack || (hasDied && isOwn)) this.byKey.set(key, new Verdicts(this.changed, ...saved));
    }
    // What is not taken over waits for a way back.
    this.save();
    listen(["pagehide", "pageshow"], ({ type }) => {
      this.isAlive = type === "pageshow";
      this.save();
    });
  }

  /** Those of one key. */
  of(key: string): Verdicts {
    const verdicts = this.byKey.get(key) ?? this.begin(key);
    this.use(key, verdicts);
    return verdicts;
  }

  /** A new list begins: its verdicts are the key's from now on. */
  begin(key: string): Verdicts {
    this.byKey.delete(key);
    const verdicts = new Verdicts(this.changed);
    this.use(key, verdicts);
    this.changed();
    return verdicts;
  }

  /** A list is shown. One that had to leave comes back, unless another has taken its place. */
  use(key: string, verdicts: Verdicts): void {
    if ((this.byKey.get(key) ?? verdicts) === verdicts) keepLatest(this.byKey, key, verdicts, MOST_KEYS);
  }

  /** Forgets all of them. */
  clear(): void {
    for (const verdicts of this.byKey.values()) verdicts.clear();
  }

  private readonly changed = (): void => {
    if (this.isSaving) return;
    this.isSaving = true;
    void nextTask().then(() => this.save());
  };

  /** Saves them beside what earlier documents of this tab have saved under other keys. */
  private save(): void {
    this.isSaving = false;
    const { namespace, byKey, isAlive } = this;
    const others = readSaved(namespace).filter(([key]) => !byKey.has(key));
    const all = others.map(([key, , ...saved]): Saved => [key, false, ...saved]);
    for (const [key, { clearNumber, fresh }] of byKey)
      if (fresh.size > 0) all.push([key, isAlive, clearNumber, [...fresh].slice(-MAX_SAVED)]);
    // Should there be no room for it, nothing outdated is to stay either.
    removeSaved(namespace);
    const text = JSON.stringify(all.slice(-MOST_KEYS));
    if (all.length > 0) attempt(() => sessionStorage.setItem(nameOf(namespace), text));
  }
}

/** Removes what is saved of a namespace. */
export function removeSaved(namespace: string): void {
  attempt(() => sessionStorage.removeItem(nameOf(namespace)));
}

/** What is saved. It may be anything. */
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
