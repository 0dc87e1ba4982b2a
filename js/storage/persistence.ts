/**
 * What keeps a namespace's impressions across visits and shows them to other tabs.
 *
 * A writer (one `open`) writes what is new as a new segment and never rewrites one; now and then it writes a checkpoint that stands for all of
 * its segments, and then removes those. At `open` it takes over whatever is there: it writes the union under a key of its own first, and then
 * removes exactly the keys that it read. In that order no interleaving of writers loses anything, and nobody needs a lock. What a segment
 * holds is the Wasm module's business.
 */
import { describe, SeenGuardError } from "../errors.js";
import type { GuardStats } from "../seenguard.js";
import { bellKey, keysOf, type NamespaceKeys, type SegmentKey } from "./keys.js";
import { noteUse, removeIdle, today } from "./idle.js";
import type { KeyValueStore } from "./store.js";

/** How much of a segment could be read. */
export type SegmentState = "whole" | "damaged" | "newer";

/** The state whose storage this is. All of it lives in the Wasm module. */
export interface Persisted {
  /** What was recorded since the last call, as a segment. */
  takeUnsaved(): string | undefined;
  /** All that this writer must keep, as one segment. */
  checkpoint(): string | undefined;
  /** Takes over segments of others, given with their writers. */
  takeOver(writers: string[], texts: string[]): SegmentState[];
  /** Takes notice of a segment of another writer that is alive. */
  merge(text: string): SegmentState;
  /** Somebody cleared the namespace. */
  forget(): void;
  report(error: SeenGuardError): void;
}

interface StoredSegment {
  readonly segment: SegmentKey;
  readonly text: string;
}

/** A checkpoint is written when there are so many segments of this writer. */
const SEGMENTS_A_CHECKPOINT = 16;
/** When so many could not be written, one that holds what all of them do takes their place. */
const UNWRITTEN = 64;
/** Damaged segments that are kept for whoever wants to look at them. */
const SET_ASIDE = 4;
/** So much of each. */
const SET_ASIDE_CHARS = 16_384;
/** How often the keys are listed anew when others take segments over while they are read. */
const LISTINGS = 4;
const DIGITS = 36;
/** Digits enough that two values in a row differ, without which no event would tell of them. */
const BELL_LENGTH = 10;
const FIRST_RETRY_MS = 1_000;
const LAST_RETRY_MS = 60_000;

export class Persistence {
  readonly #store: KeyValueStore;
  readonly #keys: NamespaceKeys;
  readonly #bell: string;
  readonly #writer: string;
  readonly #windowDays: number;
  readonly #state: Persisted;

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
  #flushing = false;
  /** Clearings that have been asked for and are not done. */
  #clearing = 0;
  #pulling = false;
  /** Whether something that is stored as pending has been covered since. */
  #hasCovered = false;
  #trouble: "unavailable" | "full" | undefined;
  #notedDay: number | undefined;
  #retryMs = FIRST_RETRY_MS;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #stopped = false;
  #stopListening = () => {};

  constructor(store: KeyValueStore, namespace: string, writer: string, windowDays: number, state: Persisted) {
    this.#store = store;
    this.#keys = keysOf(namespace);
    this.#bell = bellKey(namespace);
    this.#writer = writer;
    this.#windowDays = windowDays;
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

  /** Takes over what is there, and begins to listen for other tabs. */
  start(): Promise<void> {
    this.#listen();
    const loaded = this.#enqueue(() => this.#load());
    void this.#enqueue(() => removeIdle(this.#store, this.#keys, this.#windowDays));
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
    });
  }

  /** Forgets the namespace, for all writers, once it is cleared elsewhere: should that be this very storage by another name, what is recorded from
   *  now on must be of the last generation. */
  clear(elsewhere: () => Promise<void>): Promise<void> {
    this.#clearing++;
    return this.#enqueue(async () => {
      try {
        await elsewhere().catch((cause: unknown) => {
          this.#failed(cause);
        });
        this.#beginGeneration(await clearNamespace(this.#store, this.#keys, this.#generation));
      } finally {
        this.#clearing--;
      }
      this.#ring();
      await this.#write();
    });
  }

  /** Stops listening and retrying. */
  stop(): void {
    this.#stopped = true;
    this.#stopListening();
    clearTimeout(this.#retry);
  }

  /** One thing after the other: the writes of a writer keep their order whatever the storage does. What fails is reported. */
  #enqueue(work: () => Promise<void>): Promise<void> {
    this.#tail = this.#tail.then(work).catch((cause: unknown) => {
      this.#failed(cause);
    });
    return this.#tail;
  }

  async #load(): Promise<void> {
    const { read, outdated } = await this.#readAll();
    const states = this.#state.takeOver(
      read.map(({ segment }) => segment.writer),
      read.map(({ text }) => text),
    );
    for (const { segment } of read) {
      this.#seen.add(segment.key);
      this.#next.set(segment.writer, Math.max(this.#next.get(segment.writer) ?? 0, segment.number + 1));
    }
    // Whatever fails from here on, the generation is known and what is stored is taken over.
    this.#loaded = true;
    this.#reportStates(states);
    const isSetAside = await this.#setAside(read.filter((_, index) => states[index] === "damaged"));
    const replaced = read.filter(
      (_, index) => states[index] === "whole" || (states[index] === "damaged" && isSetAside),
    );
    if (replaced.length > 0) await this.#writeCheckpoint(replaced.map(({ segment }) => segment.key));
    if (outdated.length > 0) await this.#store.remove(outdated);
    await this.#noteUse();
  }

  /**
   * Reads the generation and all that is stored of it. Another page that opens at the same time may take segments over between the listing and the
   * reading: then the next listing has what it wrote before it removed them.
   */
  async #readAll(): Promise<{ read: StoredSegment[]; outdated: string[] }> {
    for (let listing = 1; ; listing++) {
      const segments = this.#segmentsIn(await this.#store.keys(this.#keys.prefix));
      const [generation] = await this.#store.read([this.#keys.generation]);
      this.#generation = Math.max(numberOf(generation), ...segments.map((segment) => segment.generation));
      const current = segments.filter((segment) => segment.generation === this.#generation);
      const read = await this.#readTexts(current);
      if (read.length < current.length && listing < LISTINGS) continue;
      const outdated = segments.filter((segment) => segment.generation < this.#generation);
      return { read, outdated: outdated.map(({ key }) => key) };
    }
  }

  async #noteUse(): Promise<void> {
    if (this.#notedDay === today()) return;
    await noteUse(this.#store, this.#keys, this.#windowDays);
    this.#notedDay = today();
  }

  async #readTexts(segments: readonly SegmentKey[]): Promise<StoredSegment[]> {
    const texts = await this.#store.read(segments.map(({ key }) => key));
    return segments.flatMap((segment, index) => {
      const text = texts[index];
      return text === undefined ? [] : [{ segment, text }];
    });
  }

  #segmentsIn(keys: readonly string[]): SegmentKey[] {
    return keys.map((key) => this.#keys.parseSegment(key)).filter((segment) => segment !== undefined);
  }

  #reportStates(states: readonly (SegmentState | undefined)[]): void {
    if (states.includes("damaged")) {
      this.#state.report(
        new SeenGuardError(
          "storage",
          "stored impressions were damaged: they are set aside, and what could be read of them is kept",
        ),
      );
    }
    if (states.includes("newer")) {
      this.#state.report(
        new SeenGuardError("storage", "impressions stored by a newer version of seenguard are left alone"),
      );
    }
  }

  /** Whether there was room for them. */
  async #setAside(damaged: readonly StoredSegment[]): Promise<boolean> {
    try {
      for (const [index, { text }] of damaged.slice(0, SET_ASIDE).entries()) {
        await this.#store.write(`${this.#keys.setAside}${String(index)}`, text.slice(0, SET_ASIDE_CHARS));
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
    const text = this.#state.takeUnsaved();
    if (text !== undefined) this.#unwritten.push(text);
    if (this.#unwritten.length > UNWRITTEN) {
      const whole = this.#state.checkpoint();
      if (whole !== undefined) this.#unwritten = [whole];
    }
    let wrote = false;
    while (this.#unwritten[0] !== undefined) {
      if (!(await this.#writeUnwritten(this.#unwritten[0]))) break;
      wrote = true;
    }
    if (this.#own.length > SEGMENTS_A_CHECKPOINT && this.#unwritten.length === 0) await this.#compact();
    if (wrote) {
      this.#ring();
      await this.#noteUse();
    }
  }

  /** Puts one checkpoint in the place of all that this writer has stored. */
  async #compact(): Promise<void> {
    const before = this.#own.slice();
    if (await this.#writeCheckpoint(before)) this.#own = this.#own.filter((key) => !before.includes(key));
  }

  async #noteCovered(): Promise<void> {
    if (!this.#loaded || !this.#hasCovered || this.#unwritten.length > 0 || this.#own.length === 0) return;
    this.#hasCovered = false;
    await this.#compact();
  }

  async #writeUnwritten(text: string, isLast = false): Promise<boolean> {
    const isWritten = await this.#writeSegment(text, isLast);
    if (isWritten) this.#unwritten = this.#unwritten.filter((other) => other !== text);
    return isWritten;
  }

  /** The page goes, and may never run again: what is not yet in storage is given to it at once, without waiting for the writes before. */
  #handOver(): void {
    // Without knowing the generation, what is written might be void.
    if (!this.#loaded || this.#clearing > 0) return;
    const text = this.#state.takeUnsaved();
    if (text !== undefined) this.#unwritten.push(text);
    for (const unwritten of this.#unwritten) {
      void this.#writeUnwritten(unwritten, true).then((isWritten) => {
        if (isWritten) this.#ring();
      });
    }
  }

  /** Writes a checkpoint in the place of other segments, which are removed when it is there. */
  async #writeCheckpoint(others: readonly string[]): Promise<boolean> {
    const text = this.#state.checkpoint();
    if (text === undefined) return false;
    const store = this.#store;
    const key = this.#nextKey(true);
    if (store.replace !== undefined) return this.#written(key, store.replace(key, text, others));
    const isWritten = await this.#written(key, store.write(key, text));
    if (isWritten && others.length > 0) await store.remove(others);
    return isWritten;
  }

  #writeSegment(text: string, isLast: boolean): Promise<boolean> {
    const key = this.#nextKey(false);
    if (isLast) this.#store.leave?.(key, text);
    return this.#written(key, this.#store.write(key, text));
  }

  /** Each attempt has a number of its own: others may be under way. */
  #nextKey(isCheckpoint: boolean): string {
    return this.#keys.segment(this.#generation, this.#writer, this.#nextNumber++, isCheckpoint);
  }

  /** Whether a write was done; what was wrong is reported. */
  async #written(key: string, writing: Promise<void>): Promise<boolean> {
    try {
      await writing;
    } catch (cause) {
      this.#failed(cause);
      return false;
    }
    this.#own.push(key);
    this.#trouble = undefined;
    this.#retryMs = FIRST_RETRY_MS;
    clearTimeout(this.#retry);
    this.#retry = undefined;
    return true;
  }

  #failed(cause: unknown): void {
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
    if (this.#stopped || this.#retry !== undefined) return;
    this.#retry = setTimeout(
      () => {
        this.#retry = undefined;
        void this.flush();
      },
      this.#retryMs * (0.5 + Math.random() / 2),
    );
    this.#retryMs = Math.min(2 * this.#retryMs, LAST_RETRY_MS);
  }

  /** Reads what other writers have written since. */
  #pull(): void {
    if (this.#pulling) return;
    this.#pulling = true;
    void this.#enqueue(async () => {
      this.#pulling = false;
      for (let listing = 1; listing <= LISTINGS; listing++) {
        const keys = await this.#store.keys(this.#keys.prefix);
        const [generation] = await this.#store.read([this.#keys.generation]);
        if (numberOf(generation) > this.#generation) {
          this.#beginGeneration(numberOf(generation));
          this.#state.forget();
        }
        if (await this.#mergeNew(this.#segmentsIn(keys))) return;
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
    const news = read.filter(({ segment: { key, writer, number, isCheckpoint } }) => {
      this.#seen.add(key);
      const isNext = this.#next.get(writer) === number;
      if (isNext || number === 0 || isCheckpoint) this.#next.set(writer, number + 1);
      else this.#next.delete(writer);
      // A checkpoint whose writer's segments were all read holds nothing new.
      return !(isCheckpoint && isNext);
    });
    this.#reportStates(news.map(({ text }) => this.#state.merge(text)));
    return read.length === unread.length;
  }

  #beginGeneration(generation: number): void {
    this.#generation = generation;
    this.#own = [];
    this.#unwritten = [];
    this.#seen.clear();
    this.#next.clear();
  }

  /** A `storage` event reaches every other tab, and unlike locks and channels keeps none out of the back/forward cache. */
  #ring(): void {
    if (this.#store.kind === "custom") return;
    ringBell(this.#bell);
  }

  #listen(): void {
    if (typeof window === "undefined") return;
    const onLeave = () => {
      this.#handOver();
    };
    const onHide = () => {
      if (document.visibilityState === "hidden") void this.#enqueue(() => this.#noteCovered());
    };
    window.addEventListener("pagehide", onLeave);
    document.addEventListener("visibilitychange", onHide);
    this.#stopListening = () => {
      window.removeEventListener("pagehide", onLeave);
      document.removeEventListener("visibilitychange", onHide);
    };
    if (this.#store.kind !== "custom") this.#listenToOthers();
  }

  #listenToOthers(): void {
    const onStorage = (event: StorageEvent) => {
      if (event.key === this.#bell || event.key === null) this.#pull();
    };
    // A page that was frozen or in the back/forward cache heard nothing.
    const onReturn = () => {
      if (document.visibilityState === "visible") this.#pull();
    };
    listenAtBell(this.#bell);
    window.addEventListener("storage", onStorage);
    window.addEventListener("pageshow", onReturn);
    document.addEventListener("visibilitychange", onReturn);
    const stopBefore = this.#stopListening;
    this.#stopListening = () => {
      stopBefore();
      window.removeEventListener("storage", onStorage);
      window.removeEventListener("pageshow", onReturn);
      document.removeEventListener("visibilitychange", onReturn);
    };
  }
}

/** Begins a new generation in storage and removes what earlier ones left. Returns the new one. */
export async function clearNamespace(store: KeyValueStore, keys: NamespaceKeys, known = 0): Promise<number> {
  const [stored] = await store.read([keys.generation]);
  const present = await store.keys(keys.prefix);
  const segments = present.map((key) => keys.parseSegment(key)).filter((segment) => segment !== undefined);
  const generation = Math.max(numberOf(stored), known, ...segments.map((segment) => segment.generation)) + 1;
  // First the new generation, so that what a late writer still writes is void.
  await store.write(keys.generation, generation.toString(10));
  await store.remove(present.filter((key) => key !== keys.generation));
  return generation;
}

/** WebKit tells of changes only to pages that have looked into localStorage themselves. */
function listenAtBell(key: string): void {
  try {
    localStorage.getItem(key);
  } catch {
    // Where localStorage is denied there is no bell.
  }
}

/** Tells other tabs to look. */
export function ringBell(key: string): void {
  try {
    const value = Math.random()
      .toString(DIGITS)
      .slice(2, 2 + BELL_LENGTH);
    // Always as long as before: there is room for it though the storage has filled up since.
    localStorage.setItem(key, value.padEnd(BELL_LENGTH, "0"));
  } catch {
    // Without localStorage no tab hears of another before its next look.
  }
}

/** Tells other tabs to look, too, and leaves nothing behind. */
export function removeBell(key: string): void {
  try {
    localStorage.removeItem(key);
  } catch {
    // Then it was never there.
  }
}

function numberOf(text: string | undefined): number {
  const number = Number(text);
  return Number.isSafeInteger(number) && number > 0 ? number : 0;
}

function isQuotaError(cause: unknown): boolean {
  const name = typeof cause === "object" && cause !== null ? (cause as { name?: unknown }).name : undefined;
  return name === "QuotaExceededError" || name === "NS_ERROR_DOM_QUOTA_REACHED";
}
