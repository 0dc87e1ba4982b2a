/**
 * Loads: merges the rows that others have written, in any order, any number of times. The stashes are read before the
 * store, because a row is removed from a stash only when it is in the store.
 */
import { isHidden, nextTask, yielding } from "../platform/host.js";
import type { StorageContext } from "./context.js";
import { highestGeneration, parseKeys, prefixOf, removeLocal, type ParsedKey } from "./keys.js";
import type { Retry } from "./retry.js";
import type { Saver } from "./saver.js";
import type { Snapshots } from "./snapshots.js";
import type { OtherStash } from "./stash.js";

const INTERVAL_MS = 10_000;
/** The most listings of a load: it lists the keys again if others have removed rows that it was about to read. */
const MAX_LISTINGS = 3;

export class Loader {
  readonly retry: Retry;
  /** Resolves when the first load has ended. It merges once the engine is attached. */
  readonly first: Promise<void>;
  /** The latest time in the keys that the first load has listed, Unix ms. */
  lastUseMs = 0;
  private next: Promise<void> | undefined;
  private cancelNext = (): void => {};
  /** Whether a higher generation leaves the tab's own recordings: until something was listed or merged. */
  private keepsOwn = true;
  /** The stashes that the first load has found, until they are merged. */
  private firstStashes: readonly OtherStash[] = [];

  constructor(
    private readonly context: StorageContext,
    private readonly saver: Saver,
    private readonly snapshots: Snapshots,
  ) {
    this.retry = context.retry(() => void this.load());
    // Begins now: the store responds while the engine is decoded.
    this.first = context.queue(() => this.run());
  }

  /** Resolves when everything that others have written is merged, or reading it has failed. */
  load(): Promise<void> {
    if (!this.retry.mayRun()) return Promise.resolve();
    return (this.next ??= this.context.queue(() => {
      this.next = undefined;
      return this.run();
    }));
  }

  /** Merges the stashes that the first load has found, without waiting for the store. */
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
      // What was recorded meanwhile is saved after `open` has resolved.
      void nextTask().then(() => this.saver.changed());
    }
    context.listeners.onRead();
  }

  /** Resolves to whether every row in the listing could be read. */
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
    const values = entries ? keys.map((key) => entries.get(key)) : await getMany();
    await context.isAttached;
    if (!(await this.mergeListed(unread, values, generation))) return context.isEnded();
    return values.every((value) => value !== undefined);
  }

  /** Merges rows, in several tasks if it takes long. Resolves to whether the generation is still the same. */
  private async mergeListed(
    unread: readonly ParsedKey[],
    values: readonly (string | undefined)[],
    generation: number,
  ): Promise<boolean> {
    const { context } = this;
    const yieldIfLong = yielding(context.clock);
    let snapshot: string | undefined;
    for (const [index, { key, kind }] of unread.entries()) {
      if (!context.isCurrent(generation)) return false;
      const value = values[index];
      if (kind === "h") snapshot = value;
      else if (value !== undefined) this.mergeRow(key, value);
      await yieldIfLong();
    }
    if (!context.isCurrent(generation)) return false;
    // Last, since it covers impressions of the rows.
    if (snapshot !== undefined) this.snapshots.latest?.restore(snapshot);
    return true;
  }

  private noteListing(listed: readonly ParsedKey[], known: readonly string[]): void {
    const { context } = this;
    const { generation, hasLoaded, rows } = context;
    const current = new Set(listed.filter((key) => key.generation === generation).map(({ key }) => key));
    context.older = listed.filter((key) => key.generation < generation).map(({ key }) => key);
    for (const key of known) if (!current.has(key)) rows.delete(key);
    if (!hasLoaded) this.lastUseMs = Math.max(...listed.map(({ n }) => n), this.lastUseMs);
  }

  private mergeRow(key: string, row: string): void {
    const { context } = this;
    const source = context.hasLoaded ? "Row" : "Found";
    // A clear leaves an empty row.
    context.rows.set(key, row === "" ? 0 : context.merge(row, source));
  }

  private mergeStashes(stashes: readonly OtherStash[]): void {
    const { context, saver } = this;
    const { engine, stash } = context;
    this.firstStashes = [];
    if (!engine || !stash || stashes.length === 0) return;
    this.keepsOwn = false;
    context.learn(highestGeneration(stashes));
    for (const { key, encoded, generation } of stashes) {
      if (generation < context.generation) removeLocal([key]);
      else {
        context.merge(encoded, "Stash");
        stash.noteMerged(key);
      }
    }
    saver.changed();
    // The stash is removed only when its facts are saved, too.
    if (context.hasLoaded) saver.saveFacts();
  }
}
