/**
 * Loads: merges what others have written, which may be read in any order, any number of times. The stashes are read
 * before the store, since what leaves a stash is in the store.
 */
import { isHidden, yielding } from "../platform/host.js";
import type { StorageContext } from "./context.js";
import { highestGeneration, parseKeys, prefixOf, removeLocal, type ParsedKey } from "./keys.js";
import type { Retry } from "./retry.js";
import type { Saver } from "./saver.js";
import type { Snapshots } from "./snapshots.js";
import type { OtherStash } from "./stash.js";

const INTERVAL_MS = 10_000;
/** How often a load lists the keys if others remove rows that it is about to read. */
const MAX_LISTINGS = 3;

export class Loader {
  readonly retry: Retry;
  /** Resolves when the first load has ended. It merges once the engine is attached. */
  readonly first: Promise<void>;
  /** The latest time in the keys that the first load has listed, Unix ms. */
  lastUseMs = 0;
  private next: Promise<void> | undefined;
  private cancelNext = (): void => {};
  /** Whether a generation that a listing has leaves the tab's own recordings: nothing was listed or merged before. */
  private keepsOwn = true;
  /** The stashes that the first load has found, until they are merged. */
  private firstStashes: readonly OtherStash[] = [];

  constructor(
    private readonly context: StorageContext,
    private readonly saver: Saver,
    private readonly snapshots: Snapshots,
  ) {
    this.retry = context.retry(() => void this.load());
    // Its first request is made before the engine is decoded.
    this.first = context.queue(() => this.run());
  }

  /** Resolves when what others have written is read, or reading it has failed. */
  load(): Promise<void> {
    if (!this.retry.mayRun()) return Promise.resolve();
    return (this.next ??= this.context.queue(() => {
      this.next = undefined;
      return this.run();
    }));
  }

  /** Merges the stashes that were found, although the store may not have answered yet. */
  mergeFirstStashes(): void {
    this.mergeStashes(this.firstStashes);
  }

  private async run(): Promise<void> {
    const { context } = this;
    if (context.isEnded() || (context.hasLoaded && isHidden())) return;
    this.cancelNext();
    await this.retry.attempt(async () => {
      for (let listings = 0; listings < MAX_LISTINGS; listings++) if (await this.readAll()) break;
      this.cancelNext = context.timers.after(INTERVAL_MS, () => void this.load());
      if (context.engine) context.stash?.removeSaved(context.engine);
    });
    await context.isAttached;
    if (context.isEnded()) return;
    if (!context.hasLoaded) {
      this.mergeFirstStashes();
      context.hasLoaded = true;
      context.engine?.call((guard) => guard.loaded());
      this.saver.changed();
    }
    context.listeners.onRead();
  }

  /** Returns whether everything that was listed could be read. */
  private async readAll(): Promise<boolean> {
    const { context } = this;
    const { hasLoaded, rows, store, name } = context;
    context.readSignal();
    const stashes = context.stash?.unread() ?? [];
    if (hasLoaded) this.mergeStashes(stashes);
    else this.firstStashes = stashes;
    const known = [...rows.keys()];
    // The first load reads what it lists, if the store can.
    const entries = hasLoaded || !store.entries ? undefined : await context.call(store.entries(prefixOf(name)));
    const listed = parseKeys(entries ? [...entries.keys()] : await context.call(store.keys(prefixOf(name))));
    if (context.isEnded()) return true;
    context.readSignal();
    if (context.learn(highestGeneration([...listed, ...this.firstStashes]), this.keepsOwn)) this.saver.changed();
    this.keepsOwn = false;
    const { generation } = context;
    this.noteListing(listed, known);
    const isUnread = ({ key, kind, generation: other }: ParsedKey) =>
      other === generation && ((kind === "r" && !rows.has(key)) || (kind === "h" && !hasLoaded));
    const unread = listed.filter(isUnread);
    const keys = unread.map(({ key }) => key);
    const getMany = () => (keys.length > 0 ? context.call(store.getMany(keys)) : []);
    const texts = entries ? keys.map((key) => entries.get(key)) : await getMany();
    await context.isAttached;
    if (!(await this.mergeListed(unread, texts, generation))) return context.isEnded();
    return texts.every((text) => text !== undefined);
  }

  /** Merges what was read, in several tasks if there is much. Returns whether the generation is still the same. */
  private async mergeListed(
    unread: readonly ParsedKey[],
    texts: readonly (string | undefined)[],
    generation: number,
  ): Promise<boolean> {
    const { context } = this;
    const yieldIfLong = yielding(context.clock);
    for (const [index, { key, kind }] of unread.entries()) {
      if (!context.isCurrent(generation)) return false;
      const text = texts[index];
      if (text !== undefined && kind === "h") this.snapshots.latest?.restore(text);
      else if (text !== undefined) this.mergeRow(key, text);
      await yieldIfLong();
    }
    return context.isCurrent(generation);
  }

  private noteListing(listed: readonly ParsedKey[], known: readonly string[]): void {
    const { context } = this;
    const { generation, hasLoaded, rows } = context;
    const current = new Set(listed.filter((key) => key.generation === generation).map(({ key }) => key));
    context.older = listed.filter((key) => key.generation < generation).map(({ key }) => key);
    for (const key of known) if (!current.has(key)) rows.delete(key);
    if (!hasLoaded) this.lastUseMs = Math.max(...listed.map(({ n }) => n), this.lastUseMs);
  }

  private mergeRow(key: string, text: string): void {
    const { context } = this;
    const source = context.hasLoaded ? "Row" : "Found";
    // A clear has left an empty one for its key.
    context.rows.set(key, text === "" ? 0 : context.merge(text, source));
  }

  private mergeStashes(stashes: readonly OtherStash[]): void {
    const { context, saver } = this;
    const { engine, stash } = context;
    this.firstStashes = [];
    if (!engine || !stash || stashes.length === 0) return;
    this.keepsOwn = false;
    context.learn(highestGeneration(stashes));
    for (const { key, text, generation } of stashes) {
      if (generation < context.generation) removeLocal([key]);
      else {
        context.merge(text, "Stash");
        stash.noteMerged(key);
      }
    }
    saver.changed();
    // It is removed when its facts are saved, too.
    if (context.hasLoaded) saver.saveFacts();
  }
}
