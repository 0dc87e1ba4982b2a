/**
 * The verdicts that the feeds of a namespace share, by their key. They outlive feeds and guards; in sessionStorage they
 * survive a reload and a way back in the history, but no new visit.
 */
import { attempt, isHidden, listen } from "../host.js";
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
    const all = readSaved(this.namespace);
    for (const [key, verdicts] of this.byKey) {
      const saved = verdicts.save();
      all.delete(key);
      if (saved) all.set(key, saved);
    }
    // Should there be no room for it, nothing outdated is to stay either.
    removeSaved(this.namespace);
    if (all.size === 0) return;
    const text = JSON.stringify([...all].slice(-MAX_KEYS));
    attempt(() => sessionStorage.setItem(nameOf(this.namespace), text));
  }
}

/** Removes what is saved of a namespace. */
export function removeSaved(namespace: string): void {
  attempt(() => sessionStorage.removeItem(nameOf(namespace)));
}

/** What is saved, by key. It may be anything. */
function readSaved(namespace: string): Map<string, unknown> {
  const text = attempt(() => sessionStorage.getItem(nameOf(namespace))) ?? "[]";
  return attempt(() => new Map(JSON.parse(text) as [string, unknown][])) ?? new Map<string, unknown>();
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
