/** The stash: one row in localStorage of each tab, with its newest changes that IndexedDB has not confirmed yet. */
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
  readonly encoded: string;
}

export class Stash {
  private readonly name: string;
  private readonly keys: KeyMaker;
  private own: { readonly key: string; readonly encoded: string } | undefined;
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
      const encoded = parsed.kind === "s" && parsed.key !== this.own?.key ? readLocal(parsed.key) : undefined;
      return encoded === undefined ? [] : [{ ...parsed, encoded }];
    });
  }

  noteMerged(key: string): void {
    this.merged.add(key);
  }

  /** Writes unsaved changes, under a new key. `isLast`: the page hides. */
  write(engine: EngineGuard, generation: number, wallMs: number, isLast: boolean): void {
    const others = this.others();
    // Merged stashes need no room of their own: this one contains their changes, or only newer ones fit.
    const room = MAX_CHARACTERS - sizeOf(others.filter(({ key }) => !this.merged.has(key)));
    const unsaved = engine.unsavedWithin(Math.max(room, 0));
    if (!unsaved) return;
    const { encoded, isAll } = unsaved;
    // Another tab may have merged and removed it. Only the page's last write restores it:
    // if each write did, two tabs would never stop.
    const isStored = !isLast || !this.own || readLocal(this.own.key) !== undefined;
    if (encoded === (this.own?.encoded ?? "") && isStored) return;
    if (encoded === "") this.remove();
    else if (this.replace({ key: this.keys.make(this.name, generation, "s", wallMs), encoded }))
      this.removeContained(others, encoded, isAll);
  }

  /** Replaces this tab's stash. Returns whether it could be written. */
  private replace(stash: { readonly key: string; readonly encoded: string }): boolean {
    const former = this.own;
    let isWritten = writeLocal(stash.key, stash.encoded);
    this.remove();
    isWritten ||= writeLocal(stash.key, stash.encoded);
    if (isWritten) this.own = stash;
    // The former one fits again.
    else if (former && writeLocal(former.key, former.encoded)) this.own = former;
    return isWritten;
  }

  /** Removes merged stashes: all if this tab's contains their changes, else the oldest until the others fit. */
  private removeContained(others: readonly OtherStash[], own: string, isAll: boolean): void {
    const contained = others.filter((stash) => this.merged.has(stash.key)).sort((one, other) => one.n - other.n);
    let excess = sizeOf(others) + own.length - MAX_CHARACTERS;
    for (const { key, encoded } of contained) {
      if (!isAll && excess <= 0) break;
      this.removeMerged(key);
      excess -= encoded.length;
    }
  }

  /** Removes this tab's stash, when nothing is unsaved or a new generation has begun. */
  remove(): void {
    if (this.own) removeLocal([this.own.key]);
    this.own = undefined;
  }

  private removeMerged(key: string): void {
    removeLocal([key]);
    this.merged.delete(key);
  }

  /** Removes merged stashes of other tabs whose changes are all saved. */
  removeSaved(engine: EngineGuard): void {
    for (const key of [...this.merged]) {
      const encoded = readLocal(key) ?? "";
      if (engine.hasUnsaved(encoded) === false) this.removeMerged(key);
    }
  }

  /** A new generation begins: removes this tab's stash. */
  reset(): void {
    this.remove();
    this.merged.clear();
  }
}

const sizeOf = (stashes: readonly OtherStash[]): number =>
  stashes.reduce((sum, { encoded }) => sum + encoded.length, 0);
