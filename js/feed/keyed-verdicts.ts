/**
 * The verdicts of a namespace's lists by their key: they outlive feeds and guards. What was fresh is in sessionStorage,
 * too, for a way back in the history and for a document that takes the place of one that has died.
 */
import { attempt, inNextTask, listen } from "../host.js";
import { isText } from "../options.js";
import { Verdicts } from "./verdicts.js";

/** Most keys of a namespace; the one that was used longest ago leaves. */
const MAX_KEYS = 32;
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
    for (const [key, hasDied, clearNumber, fresh] of readSaved(namespace)) {
      if (isBack || (hasDied && !isOpened())) this.byKey.set(key, new Verdicts(this.changed, fresh, clearNumber));
    }
    // The marks of what is not taken over go.
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

  /** A new list begins: these are the key's from now on. */
  begin(key: string): Verdicts {
    const verdicts = new Verdicts(this.changed);
    this.put(key, verdicts);
    this.changed();
    return verdicts;
  }

  /** A list with these verdicts is shown. One that had to leave comes back, unless another has taken its place. */
  use(key: string, verdicts: Verdicts): void {
    if ((this.byKey.get(key) ?? verdicts) === verdicts) this.put(key, verdicts);
  }

  /** Forgets all of them. */
  clear(): void {
    for (const verdicts of this.byKey.values()) verdicts.clear();
  }

  private put(key: string, verdicts: Verdicts): void {
    this.byKey.delete(key);
    this.byKey.set(key, verdicts);
    const [oldest = key] = this.byKey.keys();
    if (this.byKey.size > MAX_KEYS) this.byKey.delete(oldest);
  }

  private readonly changed = (): void => {
    if (this.isSaving) return;
    this.isSaving = true;
    inNextTask(() => {
      this.isSaving = false;
      this.save();
    });
  };

  /** Saves them beside what earlier documents of this tab have saved under other keys. */
  private save(): void {
    const { namespace, byKey, isAlive } = this;
    const others = readSaved(namespace).filter(([key]) => !byKey.has(key));
    const all = [
      ...others.map(([key, , clearNumber, fresh]): Saved => [key, false, clearNumber, fresh]),
      ...Array.from(byKey, ([key, verdicts]): Saved => [
        key,
        isAlive,
        verdicts.clearNumber,
        verdicts.latestFresh(MAX_SAVED),
      ]),
    ].filter(([, , , fresh]) => fresh.length > 0);
    // Should there be no room for it, nothing outdated is to stay either.
    removeSaved(namespace);
    if (all.length === 0) return;
    attempt(() => sessionStorage.setItem(nameOf(namespace), JSON.stringify(all.slice(-MAX_KEYS))));
  }
}

/** Removes what is saved of a namespace. */
export function removeSaved(namespace: string): void {
  attempt(() => sessionStorage.removeItem(nameOf(namespace)));
}

/** What is saved. The storage may hold anything. */
function readSaved(namespace: string): Saved[] {
  const all = attempt(() => JSON.parse(sessionStorage.getItem(nameOf(namespace)) ?? "[]") as unknown);
  return Array.isArray(all) ? all.filter(isSaved) : [];
}

function isSaved(entry: unknown): entry is Saved {
  if (!Array.isArray(entry)) return false;
  const [key, isAlive, clearNumber, fresh] = entry as unknown[];
  const isRight = isText(key) && typeof isAlive === "boolean" && typeof clearNumber === "number";
  return isRight && Array.isArray(fresh) && fresh.every(isText);
}

function nameOf(namespace: string): string {
  return `seenguard-feeds/${namespace}`;
}

function isWayBack(): boolean {
  const [navigation] = attempt(() => performance.getEntriesByType("navigation")) ?? [];
  return (navigation as Partial<PerformanceNavigationTiming> | undefined)?.type === "back_forward";
}

/** Whether another window has opened this one, which then began with a copy of that one's sessionStorage. */
function isOpened(): boolean {
  return Boolean((globalThis as Partial<Window>).opener);
}
