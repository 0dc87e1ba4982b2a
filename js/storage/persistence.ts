/**
 * What keeps a namespace's impressions across visits and shows them to other tabs.
 *
 * A writer (one `open`) writes what is new as a new segment and never rewrites one; now and then it writes a checkpoint that stands for all of
 * its segments, and then removes those. At `open` it takes over whatever is there: it writes the union under a key of its own first, and then
 * removes exactly the keys that it read. In that order no interleaving of writers loses anything, and nobody needs a lock. What a segment
 * holds is the Wasm module's business.
 */
import { NO_ANSWER, textOf, type Answer } from "../answer.js";
import { CHECKPOINT, FORGET, TAKE_IN, TAKE_UNSAVED } from "../asked.js";
import type { GuardCore } from "../guard/core.js";
import { describe, SeenGuardError } from "../errors.js";
import { isHidden, listen } from "../page.js";
import type { GuardStats } from "../types/seenguard.js";
import { retryDelayMs } from "../timeouts.js";
import { ringBell } from "./cross-tab-signal.js";
import { noteUse, removeIdle, useToday } from "./idle.js";
import {
  bellKey,
  GENERATION,
  newWriter,
  prefixOf,
  segmentKey,
  segmentsIn,
  SET_ASIDE,
  type SegmentKey,
} from "./keys.js";
import type { KeyValueStore } from "./store.js";

/** How much of a segment could be read. */
const WHOLE = 0;
const DAMAGED = 1;
const NEWER = 2;

/** The state whose storage this is. All of it lives in the Wasm module. */
type Persisted = Pick<GuardCore, "ask" | "options" | "report">;

interface StoredSegment extends SegmentKey {
  readonly text: string;
}

/** A checkpoint is written when there are so many segments of this writer. */
const SEGMENTS_A_CHECKPOINT = 16;
/** When so many could not be written, one that holds what all of them do takes their place. */
const UNWRITTEN = 64;
/** Damaged segments that are kept for whoever wants to look at them. */
const MOST_SET_ASIDE = 4;
/** So much of each. */
const SET_ASIDE_CHARS = 16_384;
/** How often the keys are listed anew when others take segments over while they are read. */
const LISTINGS = 4;
const LAST_RETRY_MS = 60_000;

export class Persistence {
  readonly #store: KeyValueStore;
  readonly #prefix: string;
  readonly #bell: string;
  readonly #writer = newWriter();
  readonly #state: Persisted;
  readonly #stopping = new AbortController();

  #loaded = false;
  #generation = 0;
  #nextNumber = 0;
  /** This writer's keys. */
  #own: readonly string[] = [];
  /** Keys of others that were read, or need not be. */
  #seen: ReadonlySet<string> = new Set();
  /** For each other writer the number of its next segment, as long as none was missed. */
  readonly #next = new Map<string, number>();
  /** Segments that could not be written yet, in order. */
  #unwritten: string[] = [];
  #tail: Promise<void> = Promise.resolve();
  /** What is done beside that. */
  #chores: Promise<void> = Promise.resolve();
  #flushing = false;
  /** Clearings that have been asked for and are not done. */
  #clearing = 0;
  #pulling = false;
  /** Whether something that is stored as pending has been covered since. */
  #hasCovered = false;
  #trouble: "unavailable" | "full" | undefined;
  #notedUse: string | undefined;
  /** In a row. */
  #failures = 0;
  #retry: ReturnType<typeof setTimeout> | undefined;

  constructor(store: KeyValueStore, state: Persisted) {
    this.#store = store;
    this.#prefix = prefixOf(state.options.namespace);
    this.#bell = bellKey(state.options.namespace);
    this.#state = state;
  }

  /** Where impressions are kept. */
  get kind(): GuardStats["storage"] {
    return this.#store.kind;
  }

  /** The same, or what is wrong with it. */
  get storage(): GuardStats["storage"] {
    return this.#trouble ?? this.#store.kind;
  }

  /** Takes over what is there. `keys`: all that the storage had when it was opened, if that is known. */
  load(keys?: readonly string[]): Promise<void> {
    return this.#enqueue(() => this.#load(keys));
  }

  /** Begins what can wait until what is loaded has been of use: to write, to listen for other tabs, and to keep the house. */
  settle(): void {
    // What was recorded before it was loaded.
    this.changed();
    this.#listen();
    this.#chores = this.#tail
      .then(() => this.#noteUse())
      .then(() => removeIdle(this.#store, this.#prefix, this.#state.options.windowDays))
      .catch(this.#failed);
  }

  /** Something was recorded: writes it as soon as the present task ends. */
  changed(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    queueMicrotask(() => {
      // The first write of a turn begins at once, so that localStorage has it when the task ends.
      void this.flush();
    });
  }

  /** A snapshot has covered something: it would be pending again after a reload, so storage is told when the page hides. */
  covered(): void {
    this.#hasCovered = true;
  }

  /** Resolves when all that was recorded so far is in storage, or could not be written. */
  flush(): Promise<void> {
    this.#flushing = true;
    return this.#enqueue(() => {
      this.#flushing = false;
      return this.#write();
    }).then(() => this.#chores);
  }

  /** Forgets the namespace, for all writers, once it is cleared elsewhere: should that be this very storage by another name, what is recorded from
   *  now on must be of the last generation. */
  clear(elsewhere: () => Promise<void>): Promise<void> {
    this.#clearing++;
    return this.#enqueue(async () => {
      try {
        await this.#chores;
        await elsewhere().catch(this.#failed);
        this.#beginGeneration(await clearNamespace(this.#store, this.#prefix, this.#generation));
      } finally {
        this.#clearing--;
      }
      this.#ring();
      await this.#write();
    });
  }

  /** Stops listening and retrying. */
  stop(): void {
    this.#stopping.abort();
    clearTimeout(this.#retry);
  }

  /** One thing after the other: the writes of a writer keep their order whatever the storage does. What fails is reported. */
  #enqueue(work: () => Promise<void>): Promise<void> {
    return (this.#tail = this.#tail.then(work).catch(this.#failed));
  }

  async #load(listed?: readonly string[]): Promise<void> {
    const { read, segments } = await this.#readNew(listed);
    const states = this.#takeIn(read, true);
    // Whatever fails from here on, the generation is known and what is stored is taken over.
    this.#loaded = true;
    this.#reportStates(states);
    const thoseOf = (state: number) => read.filter((_, index) => states[index] === state);
    const replaced = [...thoseOf(WHOLE), ...(await this.#setAside(thoseOf(DAMAGED)))];
    if (replaced.length > 0) await this.#writeCheckpoint(replaced.map(({ key }) => key));
    const outdated = segments.filter(({ generation }) => generation < this.#generation);
    if (outdated.length > 0) await this.#store.remove(outdated.map(({ key }) => key));
  }

  /**
   * Reads the generation, and what is stored of it by others and was not read before. Another page may take segments over between the listing and
   * the reading: then the next listing has what it wrote before it removed them.
   */
  async #readNew(listed?: readonly string[]): Promise<{ read: StoredSegment[]; segments: readonly SegmentKey[] }> {
    for (let listing = 1, keys = listed; ; listing++, keys = undefined) {
      keys ??= await this.#store.keys(this.#prefix);
      const segments = segmentsIn(this.#prefix, keys);
      const generation = await latestGeneration(this.#store, this.#prefix, keys);
      if (generation > this.#generation) {
        this.#beginGeneration(generation);
        // What was recorded before anything was read is of any generation.
        if (this.#loaded) this.#state.ask(FORGET);
      }
      const others = segments.filter((one) => one.generation === this.#generation && one.writer !== this.#writer);
      const unread = others.filter(({ key }) => !this.#seen.has(key)).sort((a, b) => a.number - b.number);
      const texts = unread.length > 0 ? await this.#store.read(unread.map(({ key }) => key)) : [];
      const read = unread.flatMap((segment, index) => {
        const text = texts[index];
        return text === undefined ? [] : [{ ...segment, text }];
      });
      if (read.length < unread.length && listing < LISTINGS) continue;
      const known = others.filter(({ key }) => this.#seen.has(key));
      this.#seen = new Set([...known, ...read].map(({ key }) => key));
      return { read, segments };
    }
  }

  async #noteUse(): Promise<void> {
    const use = useToday(this.#state.options.windowDays);
    if (this.#notedUse === use) return;
    await noteUse(this.#store, this.#prefix, use);
    this.#notedUse = use;
  }

  /** Gives segments to the module, those that others have left behind as its `own`. Returns the state of each. */
  #takeIn(read: readonly StoredSegment[], own: boolean): Answer[0] {
    // The module's functions are compiled when they are first called: a page that finds nothing does without for now.
    if (read.length === 0) return NO_ANSWER[0];
    const texts = read.flatMap(({ writer, text }) => [writer, text]);
    return this.#state.ask(TAKE_IN, texts, own)[0];
  }

  #reportStates(states: { includes(state: number): boolean }): void {
    for (const [state, message] of [
      [DAMAGED, "stored impressions are damaged and set aside; what can be read is kept"],
      [NEWER, "stored impressions of a newer version are left alone"],
    ] as const) {
      if (states.includes(state)) this.#state.report(new SeenGuardError("storage", message));
    }
  }

  /** Returns them if there was room. */
  async #setAside(damaged: readonly StoredSegment[]): Promise<readonly StoredSegment[]> {
    try {
      for (const [index, { text }] of damaged.slice(0, MOST_SET_ASIDE).entries()) {
        await this.#store.write(`${this.#prefix}${SET_ASIDE}${index}`, text.slice(0, SET_ASIDE_CHARS));
      }
      return damaged;
    } catch (cause) {
      this.#failed(cause);
      return [];
    }
  }

  /** Writes what is new, as far as the storage takes it. */
  async #write(): Promise<void> {
    // What was recorded since belongs to the generation that clearing begins, and is written when it has.
    if (this.#clearing > 0) return;
    // Without having read the generation, what is written might be void.
    if (!this.#loaded) await this.#load();
    this.#takeUnsaved();
    if (this.#unwritten.length > UNWRITTEN) {
      const whole = this.#text(CHECKPOINT);
      if (whole !== "") this.#unwritten = [whole];
    }
    let wrote = false;
    while (this.#unwritten[0] !== undefined) {
      if (!(await this.#writeSegment(this.#unwritten[0]))) break;
      wrote = true;
    }
    if (this.#own.length > SEGMENTS_A_CHECKPOINT && this.#unwritten.length === 0)
      await this.#writeCheckpoint(this.#own);
    if (wrote) {
      this.#ring();
      await this.#noteUse();
    }
  }

  #takeUnsaved(): void {
    const text = this.#text(TAKE_UNSAVED);
    if (text !== "") this.#unwritten.push(text);
  }

  /** The page hides, and may never be seen again. */
  async #noteCovered(): Promise<void> {
    if (!this.#hasCovered || this.#unwritten.length > 0 || this.#own.length === 0) return;
    this.#hasCovered = false;
    await this.#writeCheckpoint(this.#own);
  }

  /** The page goes, and may never run again: what is not yet in storage is given to it at once, without waiting for the writes before. */
  #handOver(): void {
    // Without knowing the generation, what is written might be void.
    if (!this.#loaded || this.#clearing > 0) return;
    this.#takeUnsaved();
    for (const text of this.#unwritten) {
      void this.#writeSegment(text, true).then((isWritten) => {
        if (isWritten) this.#ring();
      });
    }
  }

  async #writeSegment(text: string, isLast = false): Promise<boolean> {
    const isWritten = await this.#put(text, false, [], isLast);
    if (isWritten) this.#unwritten = this.#unwritten.filter((other) => other !== text);
    return isWritten;
  }

  /** A segment of the module's; empty if there is no guard any more. */
  #text(question: number): string {
    return textOf(this.#state.ask(question));
  }

  /** Writes a checkpoint in the place of other segments, which are removed when it is there. */
  async #writeCheckpoint(others: readonly string[]): Promise<void> {
    const text = this.#text(CHECKPOINT);
    if (text !== "" && (await this.#put(text, true, others)))
      this.#own = this.#own.filter((key) => !others.includes(key));
  }

  /** Whether a text was stored, and what it replaces removed; what was wrong is reported. */
  async #put(text: string, isCheckpoint: boolean, replaced: readonly string[], isLast = false): Promise<boolean> {
    // Each attempt has a number of its own: others may be under way.
    const key = segmentKey(this.#prefix, this.#generation, this.#writer, this.#nextNumber++, isCheckpoint);
    // It may be there though the removing fails.
    if (isCheckpoint) this.#own = [...this.#own, key];
    if (isLast) this.#store.leave?.(key, text);
    try {
      await this.#store.write(key, text, replaced);
    } catch (cause) {
      this.#failed(cause);
      return false;
    }
    if (!isCheckpoint) this.#own = [...this.#own, key];
    this.#trouble = undefined;
    this.#failures = 0;
    clearTimeout(this.#retry);
    this.#retry = undefined;
    return true;
  }

  readonly #failed = (cause: unknown): void => {
    // Engines have several names for it.
    const full = /quota/i.test((cause as Partial<Error> | null | undefined)?.name ?? "");
    const trouble = full ? "full" : "unavailable";
    if (this.#trouble !== trouble) {
      this.#trouble = trouble;
      const message = full
        ? "the storage is full: impressions are kept in memory and tried again"
        : `the storage failed: ${describe(cause)}`;
      this.#state.report(new SeenGuardError(full ? "storage-full" : "storage", message, cause));
    }
    // What is recorded meanwhile is tried at once, and puts off nothing.
    if (this.#stopping.signal.aborted) return;
    this.#retry ??= setTimeout(
      () => {
        this.#retry = undefined;
        void this.flush();
      },
      retryDelayMs(this.#failures++, LAST_RETRY_MS),
    );
  };

  /** Reads what other writers have written since. */
  #pull(): void {
    if (this.#pulling) return;
    this.#pulling = true;
    void this.#enqueue(async () => {
      this.#pulling = false;
      if (!this.#loaded) return this.#load();
      const { read } = await this.#readNew();
      this.#reportStates(read.map((stored) => this.#merge(stored)));
    });
  }

  /** Takes in what another writer has written since. Returns its state. */
  #merge(stored: StoredSegment): number | undefined {
    const { writer, number, isCheckpoint } = stored;
    const isNext = this.#next.get(writer) === number;
    // A checkpoint whose writer's segments were all read holds nothing new.
    const state = isCheckpoint && isNext ? WHOLE : this.#takeIn([stored], false)[0];
    // What could not be read is in its writer's next checkpoint.
    if (state === WHOLE && (isNext || number === 0 || isCheckpoint)) this.#next.set(writer, number + 1);
    else this.#next.delete(writer);
    return state;
  }

  #beginGeneration(generation: number): void {
    this.#generation = generation;
    this.#own = [];
    this.#unwritten = [];
    this.#seen = new Set();
    this.#next.clear();
  }

  #ring(): void {
    if (this.#store.kind !== "custom") ringBell(this.#bell);
  }

  #listen(): void {
    const { signal } = this.#stopping;
    const isShared = this.#store.kind !== "custom";
    listen(signal, ["pagehide", "pageshow", "visibilitychange"], ({ type }) => {
      if (type === "pagehide") this.#handOver();
      else if (isHidden()) void this.#enqueue(() => this.#noteCovered());
      // A page that was frozen or in the back/forward cache heard nothing.
      else if (isShared) this.#pull();
    });
    if (!isShared) return;
    // WebKit tells of changes only to pages that have looked into localStorage themselves, as the listing of keys does.
    listen(signal, ["storage"], (event) => {
      const { key } = event as StorageEvent;
      if (key === this.#bell || key === null) this.#pull();
    });
    // What was written since the loading rang no bell that was heard.
    this.#pull();
  }
}

/** Begins a new generation in storage and removes what earlier ones left. Returns the new one. */
export async function clearNamespace(store: KeyValueStore, prefix: string, known = 0): Promise<number> {
  const present = await store.keys(prefix);
  const generation = Math.max(known, await latestGeneration(store, prefix, present)) + 1;
  // First the new generation, so that what a late writer still writes is void.
  await store.write(prefix + GENERATION, `${generation}`);
  await store.remove(present.filter((key) => key !== prefix + GENERATION));
  return generation;
}

/** The generation that is noted, which a namespace that was never cleared spares the reading, or that of a later segment. */
async function latestGeneration(store: KeyValueStore, prefix: string, keys: readonly string[]): Promise<number> {
  const key = prefix + GENERATION;
  const noted = keys.includes(key) ? Number((await store.read([key]))[0]) : 0;
  const generations = segmentsIn(prefix, keys).map(({ generation }) => generation);
  return Math.max(0, ...[...generations, noted].filter(Number.isSafeInteger));
}
