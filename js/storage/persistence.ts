/**
 * What keeps a namespace's impressions across visits and shows them to other tabs.
 *
 * A writer (one `open`) writes what is new as a new segment and never rewrites one; now and then it writes a checkpoint that stands for all of
 * its segments, and then removes those. At `open` it takes over whatever is there: it writes the union under a key of its own first, and then
 * removes exactly the keys that it read. In that order no interleaving of writers loses anything, and nobody needs a lock. What a segment
 * holds is the Wasm module's business.
 */
import type { GuardCore } from "../core.js";
import { describe, SeenGuardError } from "../errors.js";
import { isHidden, listen } from "../page.js";
import type { GuardStats } from "../seenguard.js";
import { retryDelayMs } from "../within.js";
import { listenAtBell, ringBell } from "./bell.js";
import { noteUse, removeIdle, today } from "./idle.js";
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
type Persisted = Pick<GuardCore, "ask" | "askOf" | "options" | "report">;

interface StoredSegment {
  readonly segment: SegmentKey;
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
  #own: string[] = [];
  /** Keys of others that were read, or need not be. */
  readonly #seen = new Set<string>();
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
  #notedDay: number | undefined;
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

  /** Takes over what is there, and begins to listen for other tabs. `keys`: all that the storage had when it was opened, if that is known. */
  start(keys?: readonly string[]): Promise<void> {
    this.#listen();
    const loaded = this.#enqueue(() => this.#load(keys));
    // What was written since then rang no bell that was heard.
    if (keys !== undefined) this.#pull();
    // Nobody waits for the house to be kept, least of all what is recorded meanwhile.
    this.#chores = loaded
      .then(() => this.#noteUse())
      .then(() => removeIdle(this.#store, this.#prefix, this.#state.options.windowDays))
      .catch(this.#failed);
    return loaded;
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
    const { read, outdated } = await this.#readAll(listed);
    const states = this.#takeIn(read, true);
    // What their writers wrote before, others may have taken over damaged: a writer's next checkpoint is not passed over here.
    for (const { segment } of read) this.#seen.add(segment.key);
    // Whatever fails from here on, the generation is known and what is stored is taken over.
    this.#loaded = true;
    this.#reportStates(states);
    const isSetAside = await this.#setAside(read.filter((_, index) => states[index] === DAMAGED));
    const replaced = read.filter((_, index) => states[index] === WHOLE || (states[index] === DAMAGED && isSetAside));
    if (replaced.length > 0) await this.#writeCheckpoint(replaced.map(({ segment }) => segment.key));
    if (outdated.length > 0) await this.#store.remove(outdated);
  }

  /**
   * Reads the generation and all that is stored of it. Another page that opens at the same time may take segments over between the listing and the
   * reading: then the next listing has what it wrote before it removed them.
   */
  async #readAll(listed?: readonly string[]): Promise<{ read: StoredSegment[]; outdated: string[] }> {
    for (let listing = 1; ; listing++) {
      const isListed = listing === 1 && listed !== undefined;
      const keys = isListed ? listed : await this.#store.keys(this.#prefix);
      const segments = segmentsIn(this.#prefix, keys);
      this.#generation = await latestGeneration(this.#store, this.#prefix, keys, segments);
      const current = segments.filter((segment) => segment.generation === this.#generation);
      const read = await this.#readTexts(current);
      if (read.length < current.length && listing < LISTINGS) continue;
      const outdated = segments.filter((segment) => segment.generation < this.#generation);
      return { read, outdated: outdated.map(({ key }) => key) };
    }
  }

  async #noteUse(): Promise<void> {
    if (this.#notedDay === today()) return;
    await noteUse(this.#store, this.#prefix, this.#state.options.windowDays);
    this.#notedDay = today();
  }

  async #readTexts(segments: readonly SegmentKey[]): Promise<StoredSegment[]> {
    const texts = segments.length > 0 ? await this.#store.read(segments.map(({ key }) => key)) : [];
    return segments.flatMap((segment, index) => {
      const text = texts[index];
      return text === undefined ? [] : [{ segment, text }];
    });
  }

  /** Gives segments to the module, those that others have left behind as its `own`. Returns the state of each. */
  #takeIn(read: readonly StoredSegment[], own: boolean): readonly number[] {
    const texts = read.flatMap(({ segment, text }) => [segment.writer, text]);
    return this.#state.askOf(texts, "takeIn", own)[0];
  }

  #reportStates(states: readonly (number | undefined)[]): void {
    for (const [state, message] of [
      [DAMAGED, "stored impressions were damaged: they are set aside, and what could be read of them is kept"],
      [NEWER, "impressions stored by a newer version of seenguard are left alone"],
    ] as const) {
      if (states.includes(state)) this.#state.report(new SeenGuardError("storage", message));
    }
  }

  /** Whether there was room for them. */
  async #setAside(damaged: readonly StoredSegment[]): Promise<boolean> {
    try {
      for (const [index, { text }] of damaged.slice(0, MOST_SET_ASIDE).entries()) {
        await this.#store.write(this.#prefix + SET_ASIDE + String(index), text.slice(0, SET_ASIDE_CHARS));
      }
      return true;
    } catch (cause) {
      this.#failed(cause);
      return false;
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
      const whole = this.#state.ask(undefined, "checkpoint");
      if (whole !== undefined) this.#unwritten = [whole];
    }
    let wrote = false;
    while (this.#unwritten[0] !== undefined) {
      if (!(await this.#writeSegment(this.#unwritten[0]))) break;
      wrote = true;
    }
    if (this.#own.length > SEGMENTS_A_CHECKPOINT && this.#unwritten.length === 0) await this.#compact();
    if (wrote) {
      this.#ring();
      await this.#noteUse();
    }
  }

  #takeUnsaved(): void {
    const text = this.#state.ask("", "takeUnsaved");
    if (text !== "") this.#unwritten.push(text);
  }

  /** Puts one checkpoint in the place of all that this writer has stored. */
  async #compact(): Promise<void> {
    const before = this.#own.slice();
    if (await this.#writeCheckpoint(before)) this.#own = this.#own.filter((key) => !before.includes(key));
  }

  /** The page hides, and may never be seen again. */
  async #noteCovered(): Promise<void> {
    if (!this.#loaded || !this.#hasCovered || this.#unwritten.length > 0 || this.#own.length === 0) return;
    this.#hasCovered = false;
    await this.#compact();
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

  /** Writes a checkpoint in the place of other segments, which are removed when it is there. */
  async #writeCheckpoint(others: readonly string[]): Promise<boolean> {
    const text = this.#state.ask(undefined, "checkpoint");
    return text !== undefined && this.#put(text, true, others);
  }

  /** Whether a text was stored, and what it replaces removed; what was wrong is reported. */
  async #put(text: string, isCheckpoint: boolean, replaced: readonly string[], isLast = false): Promise<boolean> {
    // Each attempt has a number of its own: others may be under way.
    const key = segmentKey(this.#prefix, this.#generation, this.#writer, this.#nextNumber++, isCheckpoint);
    // It may be there though the removing fails.
    if (isCheckpoint) this.#own.push(key);
    if (isLast) this.#store.leave?.(key, text);
    try {
      await this.#store.write(key, text, replaced);
    } catch (cause) {
      this.#failed(cause);
      return false;
    }
    if (!isCheckpoint) this.#own.push(key);
    this.#trouble = undefined;
    this.#failures = 0;
    clearTimeout(this.#retry);
    this.#retry = undefined;
    return true;
  }

  readonly #failed = (cause: unknown): void => {
    const full = isQuotaError(cause);
    const trouble = full ? "full" : "unavailable";
    if (this.#trouble !== trouble) {
      this.#trouble = trouble;
      const message = full
        ? "the storage is full: what does not fit is kept in memory and tried again"
        : `the storage failed: ${describe(cause)}`;
      this.#state.report(new SeenGuardError(full ? "storage-full" : "storage", message, cause));
    }
    // What is recorded meanwhile is tried at once, and puts off nothing.
    if (this.#stopping.signal.aborted || this.#retry !== undefined) return;
    this.#retry = setTimeout(
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
      for (let listing = 1; listing <= LISTINGS; listing++) {
        const keys = await this.#store.keys(this.#prefix);
        const generation = await latestGeneration(this.#store, this.#prefix, keys);
        if (generation > this.#generation) {
          this.#beginGeneration(generation);
          this.#state.ask(undefined, "forget");
        }
        if (await this.#mergeNew(segmentsIn(this.#prefix, keys))) return;
      }
    });
  }

  /** Whether all of it could be read: what others take over meanwhile is in what they wrote. */
  async #mergeNew(segments: readonly SegmentKey[]): Promise<boolean> {
    const others = segments.filter(
      ({ generation, writer }) => generation === this.#generation && writer !== this.#writer,
    );
    const unread = others.filter(({ key }) => !this.#seen.has(key)).sort((a, b) => a.number - b.number);
    const there = new Set(others.map(({ key }) => key));
    for (const key of this.#seen) if (!there.has(key)) this.#seen.delete(key);
    const read = await this.#readTexts(unread);
    const states = read.map((stored) => {
      const { key, writer, number, isCheckpoint } = stored.segment;
      this.#seen.add(key);
      const isNext = this.#next.get(writer) === number;
      // A checkpoint whose writer's segments were all read holds nothing new.
      const state = isCheckpoint && isNext ? WHOLE : this.#takeIn([stored], false)[0];
      // What could not be read is in its writer's next checkpoint.
      if (state === WHOLE && (isNext || number === 0 || isCheckpoint)) this.#next.set(writer, number + 1);
      else this.#next.delete(writer);
      return state;
    });
    this.#reportStates(states);
    return read.length === unread.length;
  }

  #beginGeneration(generation: number): void {
    this.#generation = generation;
    this.#own = [];
    this.#unwritten = [];
    this.#seen.clear();
    this.#next.clear();
  }

  #ring(): void {
    if (this.#store.kind !== "custom") ringBell(this.#bell);
  }

  #listen(): void {
    const { signal } = this.#stopping;
    listen(signal, ["pagehide"], () => this.#handOver());
    listen(signal, ["visibilitychange"], () => {
      if (isHidden()) void this.#enqueue(() => this.#noteCovered());
    });
    if (this.#store.kind === "custom") return;
    listenAtBell(this.#bell);
    listen(signal, ["storage"], (event) => {
      const { key } = event as StorageEvent;
      if (key === this.#bell || key === null) this.#pull();
    });
    // A page that was frozen or in the back/forward cache heard nothing.
    listen(signal, ["pageshow", "visibilitychange"], () => {
      if (!isHidden()) this.#pull();
    });
  }
}

/** Begins a new generation in storage and removes what earlier ones left. Returns the new one. */
export async function clearNamespace(store: KeyValueStore, prefix: string, known = 0): Promise<number> {
  const present = await store.keys(prefix);
  const generation = Math.max(known, await latestGeneration(store, prefix, present, segmentsIn(prefix, present))) + 1;
  // First the new generation, so that what a late writer still writes is void.
  await store.write(prefix + GENERATION, String(generation));
  await store.remove(present.filter((key) => key !== prefix + GENERATION));
  return generation;
}

/** The generation that is noted, which a namespace that was never cleared spares the reading, or that of a later segment. */
async function latestGeneration(
  store: KeyValueStore,
  prefix: string,
  keys: readonly string[],
  segments: readonly SegmentKey[] = [],
): Promise<number> {
  const key = prefix + GENERATION;
  const number = keys.includes(key) ? Number((await store.read([key]))[0]) : 0;
  return Math.max(0, Number.isSafeInteger(number) ? number : 0, ...segments.map(({ generation }) => generation));
}

function isQuotaError(cause: unknown): boolean {
  const { name } = (cause ?? {}) as { name?: unknown };
  return name === "QuotaExceededError" || name === "NS_ERROR_DOM_QUOTA_REACHED";
}
