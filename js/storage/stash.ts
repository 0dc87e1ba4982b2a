/** What IndexedDB has not confirmed yet, in localStorage: one row of each tab, with its newest unsaved changes. */
import type { EngineGuard } from "../engine/engine-guard.js";
import {
  KeyMaker,
  localKeys,
  parseKeys,
  prefixOf,
  readLocal,
  removeLocal,
  writeLocal,
  type ParsedKey,
} from "./keys.js";

/** The most characters of all stashes of a namespace. */
const MAX_CHARACTERS = 200_000;

export interface OtherStash extends ParsedKey {
  readonly text: string;
}

export class Stash {
  private readonly name: string;
  private readonly keys: KeyMaker;
  private own: { readonly key: string; readonly text: string } | undefined;
  /** The stashes of other tabs that this tab has merged. */
  private readonly merged = new Set<string>();

  constructor(name: string, keys: KeyMaker) {
    [this.name, this.keys] = [name, keys];
  }

  /** The stashes of other tabs that were not merged here. */
  unread(): OtherStash[] {
    return this.others().filter(({ key }) => !this.merged.has(key));
  }

  private others(): OtherStash[] {
    return parseKeys(localKeys(prefixOf(this.name))).flatMap((parsed) => {
      const text = parsed.kind === "s" && parsed.key !== this.own?.key ? readLocal(parsed.key) : undefined;
      return text === undefined ? [] : [{ ...parsed, text }];
    });
  }

  noteMerged(key: string): void {
    this.merged.add(key);
  }

  /** Writes what is unsaved, under a new key. `isLast`: the page hides. */
  write(engine: EngineGuard, generation: number, wallMs: number, isLast: boolean): void {
    const others = this.others();
    // A merged stash is in this one, or it is older than all that fits.
    const room = MAX_CHARACTERS - sizeOf(others.filter(({ key }) => !this.merged.has(key)));
    const unsaved = engine.unsavedWithin(Math.max(room, 0));
    if (!unsaved) return;
    const { text, isAll } = unsaved;
    // Another tab may have removed it, since its own contains it: two that write again would never end.
    const isThere = !isLast || !this.own || readLocal(this.own.key) !== undefined;
    if (text === (this.own?.text ?? "") && isThere) return;
    if (text === "") this.remove();
    else if (this.replace({ key: this.keys.make(this.name, generation, "s", wallMs), text }))
      this.removeContained(others, text, isAll);
  }

  /** Replaces this tab's stash. Returns whether it could be written. */
  private replace(stash: { readonly key: string; readonly text: string }): boolean {
    const former = this.own;
    let isWritten = writeLocal(stash.key, stash.text);
    this.remove();
    isWritten ||= writeLocal(stash.key, stash.text);
    if (isWritten) this.own = stash;
    // What was removed fits again.
    else if (former && writeLocal(former.key, former.text)) this.own = former;
    return isWritten;
  }

  /** Removes merged stashes: all if this tab's has what is in them, else the oldest that are too many. */
  private removeContained(others: readonly OtherStash[], text: string, isAll: boolean): void {
    const contained = others.filter((stash) => this.merged.has(stash.key)).sort((one, other) => one.n - other.n);
    let excess = sizeOf(others) + text.length - MAX_CHARACTERS;
    for (const { key, text: other } of contained) {
      if (!isAll && excess <= 0) break;
      this.removeMerged(key);
      excess -= other.length;
    }
  }

  /** Removes this tab's stash: nothing is unsaved, or it is of an older generation. */
  remove(): void {
    if (this.own) removeLocal([this.own.key]);
    this.own = undefined;
  }

  private removeMerged(key: string): void {
    removeLocal([key]);
    this.merged.delete(key);
  }

  /** Removes the stashes of other tabs of which everything is saved. */
  removeSaved(engine: EngineGuard): void {
    for (const key of [...this.merged]) {
      const text = readLocal(key) ?? "";
      if (engine.hasUnsaved(text) === false) this.removeMerged(key);
    }
  }

  /** Another generation has begun. */
  reset(): void {
    this.remove();
    this.merged.clear();
  }
}

const sizeOf = (stashes: readonly OtherStash[]): number => stashes.reduce((sum, { text }) => sum + text.length, 0);
