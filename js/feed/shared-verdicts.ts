/**
 * The verdicts that the feeds of a namespace share, by their key. They outlive feeds and guards; in sessionStorage they
 * survive a reload and a way back in the history, but no new visit.
 */
import { isHidden, listen } from "../page.js";
import { attempt } from "../storage/attempt.js";
import { Verdicts } from "./verdicts.js";

/** Most keys of a namespace; the one that was used longest ago leaves. */
const MAX_KEYS = 32;

export class SharedVerdicts {
  private readonly namespace: string;
  private readonly byKey = new Map<string, Verdicts>();

  constructor(namespace: string) {
    this.namespace = namespace;
    if (isReturn()) for (const [key, saved] of readSaved(namespace)) this.of(key).restore(saved);
    listen(["visibilitychange", "pagehide"], ({ type }) => {
      if (type === "pagehide" || isHidden()) this.save();
    });
  }

  /** Those of one key. */
  of(key: string): Verdicts {
    const verdicts = this.byKey.get(key) ?? new Verdicts(() => this.save());
    this.byKey.delete(key);
    this.byKey.set(key, verdicts);
    for (const oldest of [...this.byKey.keys()].slice(0, -MAX_KEYS)) this.byKey.delete(oldest);
    return verdicts;
  }

  /** Forgets all of them. */
  clear(): void {
    for (const verdicts of this.byKey.values()) verdicts.clear();
  }

  /** Saves them beside what earlier documents of this tab have saved under other keys. */
  private save(): void {
    const own = Array.from(this.byKey, ([key, verdicts]) => [key, verdicts.save()] as const);
    const others = readSaved(this.namespace).filter(([key]) => !this.byKey.has(key));
    const all = [...others, ...own].filter(([, saved]) => saved).slice(-MAX_KEYS);
    // Should there be no room for it, nothing outdated is to stay either.
    removeSaved(this.namespace);
    if (all.length > 0) attempt(() => sessionStorage.setItem(nameOf(this.namespace), JSON.stringify(all)));
  }
}

/** Removes what is saved of a namespace. */
export function removeSaved(namespace: string): void {
  attempt(() => sessionStorage.removeItem(nameOf(namespace)));
}

/** What is saved, by key. It may be anything. */
function readSaved(namespace: string): (readonly [key: string, saved: unknown])[] {
  const saved: unknown = attempt(() => JSON.parse(sessionStorage.getItem(nameOf(namespace)) ?? "") as unknown);
  return Array.isArray(saved) ? saved.filter(isKeyed) : [];
}

function isKeyed(value: unknown): value is readonly [key: string, saved: unknown] {
  return Array.isArray(value) && typeof value[0] === "string";
}

function nameOf(namespace: string): string {
  return `seenguard-feeds/${namespace}`;
}

/** Whether this document is one that was there before: only then what it has shown is to come back. */
function isReturn(): boolean {
  const [navigation] = attempt(() => performance.getEntriesByType("navigation")) ?? [];
  const { type } = (navigation ?? {}) as Partial<PerformanceNavigationTiming>;
  return type === "reload" || type === "back_forward";
}
