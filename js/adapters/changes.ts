/** Events after which lists must be rendered again: their guard has unseen or forgotten ids, or was closed. */
import { CHANGES, type ChangingGuard } from "../guard/hook.js";
import type { SeenGuard } from "../types/seenguard.js";

export class Changes {
  count = 0;
  /** The guard is closed. */
  isOver = false;
  private readonly listeners = new Set<() => void>();

  /** Returns stop. */
  readonly subscribe = (onChange: () => void): (() => void) => {
    this.listeners.add(onChange);
    return () => this.listeners.delete(onChange);
  };

  readonly happened = (isOver: boolean): void => {
    this.count++;
    this.isOver = isOver;
    for (const listener of [...this.listeners]) listener();
  };
}

const NONE = new Changes();
const changes = new WeakMap<SeenGuard, Changes>();

/** The changes of a guard; none without a guard. */
export function changesOf(guard: SeenGuard | null | undefined): Changes {
  const known = guard ? changes.get(guard) : NONE;
  if (known || !guard) return known ?? NONE;
  const made = new Changes();
  changes.set(guard, made);
  (guard as object as Partial<ChangingGuard>)[CHANGES]?.(made.happened);
  return made;
}
