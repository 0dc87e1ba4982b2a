/**
 * The segments of one namespace in a store, and the generation that they and the stored snapshot belong to.
 *
 * What is read here is of one generation: an answer that a clear of this document has overtaken is `undefined`.
 */
import { FIRST_GENERATION, readGeneration, type Generation } from "./generation.js";
import type { KeyValueStore } from "./key-value-store.js";
import {
  GENERATION,
  heldKeysIn,
  newWriter,
  segmentKey,
  segmentsIn,
  type GenerationKey,
  type SegmentKey,
} from "./keys.js";

export interface StoredSegment extends SegmentKey {
  readonly text: string;
}

/** What one look into the store has found. */
export interface Found {
  /** A generation that was not known before: what was recorded before it is to be forgotten. */
  readonly begun: Generation | undefined;
  /** Segments of others that were not read before. */
  readonly segments: readonly StoredSegment[];
  /** All texts that were read, by key: of segments, and of the stored snapshot if it was wanted. */
  readonly texts: ReadonlyMap<string, string>;
  /** Keys of older generations. */
  readonly outdated: readonly string[];
}

/** How often the keys are listed anew when a listed segment is missing because somebody has compacted it. */
const LISTINGS = 8;
/** What is longer (characters) is not stashed: localStorage is small, and takes its time. */
const MOST_STASHED = 100_000;

export class SegmentLog {
  readonly store: KeyValueStore;
  readonly prefix: string;
  private readonly writer = newWriter();
  private current = FIRST_GENERATION;
  /** Segments of this generation that were read or written here, by key. */
  private readonly known = new Map<string, SegmentKey>();
  /** Those among them that are left alone. */
  private readonly unreadable = new Set<string>();
  private nextNumber = 0;
  /** Counts what makes answers that are under way void. */
  private epoch = 0;

  constructor(store: KeyValueStore, prefix: string) {
    this.store = store;
    this.prefix = prefix;
  }

  /** Makes answers that are under way void. */
  invalidate(): void {
    this.epoch++;
  }

  get generation(): Generation {
    return this.current;
  }

  /** Goes on in another generation, of which nothing is known yet. */
  begin(generation: Generation): void {
    this.epoch++;
    this.current = generation;
    this.known.clear();
    this.unreadable.clear();
  }

  /**
   * Reads what others have written and this log has not read, and if wanted the stored snapshot with it. `listed`: the
   * store's keys, if they were just listed.
   */
  async readNew(listed?: readonly string[], wantsSnapshot = false): Promise<Found | undefined> {
    let begun: Generation | undefined;
    let { epoch } = this;
    for (let listing = 1, keys = listed; ; listing++, keys = undefined) {
      keys ??= await this.store.keys(this.prefix);
      const generation = await readGeneration(this.store, this.prefix, keys);
      if (epoch !== this.epoch) return undefined;
      if (generation.number > this.current.number) {
        this.begin(generation);
        begun = generation;
        epoch = this.epoch;
      }
      const all = segmentsIn(this.prefix, keys);
      const held = heldKeysIn(this.prefix, keys);
      const isCurrent = ({ generation }: GenerationKey) => generation === this.current.number;
      const unread = all.filter((one) => isCurrent(one) && this.isUnread(one));
      const wanted = wantsSnapshot ? held.filter(isCurrent) : [];
      const texts = await this.readTexts([...unread, ...wanted]);
      if (epoch !== this.epoch) return undefined;
      const segments = segmentsAmong(texts, unread);
      if (segments.length < unread.length && listing < LISTINGS) continue;
      for (const segment of unread) if (texts.has(segment.key)) this.known.set(segment.key, segment);
      const isOlder = ({ generation }: GenerationKey) => generation < this.current.number;
      const outdated = [...all, ...held].filter(isOlder).map(({ key }) => key);
      return { begun, segments, texts, outdated };
    }
  }

  /** Reads the segments of one level, or of all, that are known and can be read; all of them or none. */
  async readKnown(level?: number): Promise<readonly StoredSegment[] | undefined> {
    const { epoch } = this;
    const keys = new Set(await this.store.keys(this.prefix));
    if (epoch !== this.epoch) return undefined;
    for (const key of this.known.keys()) if (!keys.has(key)) this.known.delete(key);
    const wanted = [...this.known.values()].filter(
      (one) => !this.unreadable.has(one.key) && (level === undefined || one.level === level),
    );
    const segments = segmentsAmong(await this.readTexts(wanted), wanted);
    return epoch === this.epoch && segments.length === wanted.length ? segments : undefined;
  }

  /** How many known segments of a level can be compacted. */
  countOf(level: number): number {
    return [...this.known.values()].filter((one) => one.level === level && !this.unreadable.has(one.key)).length;
  }

  /** Leaves a segment alone from now on. */
  setUnreadable({ key }: SegmentKey): void {
    this.unreadable.add(key);
  }

  /** Writes a segment under a key of its own. Returns as `writeTexts`. */
  async write({ text, level }: { readonly text: string; readonly level: number }): Promise<boolean | undefined> {
    const segment = this.nextKey(level);
    const isWritten = await this.writeTexts({ [segment.key]: text });
    if (isWritten) this.known.set(segment.key, segment);
    return isWritten;
  }

  /**
   * Writes texts of this generation by key. Returns false if another one has begun, in which they are void;
   * `undefined` if this log has begun one.
   */
  async writeTexts(texts: Readonly<Record<string, string>>): Promise<boolean | undefined> {
    const { epoch } = this;
    const generation = await this.store.write(texts, this.prefix + GENERATION);
    if (epoch !== this.epoch) return undefined;
    if (generation === this.current.text) return true;
    await this.store.remove(Object.keys(texts));
    return epoch === this.epoch ? false : undefined;
  }

  /** Writes a segment without looking at the generation: the page goes. */
  async writeLast({ text, level }: { readonly text: string; readonly level: number }): Promise<void> {
    const segment = this.nextKey(level);
    if (text.length <= MOST_STASHED) this.store.stash?.(segment.key, text);
    this.known.set(segment.key, segment);
    await this.store.write({ [segment.key]: text });
  }

  async remove(keys: readonly string[]): Promise<void> {
    await this.store.remove(keys);
    for (const key of keys) {
      this.known.delete(key);
      this.unreadable.delete(key);
    }
  }

  /** Reads the generation after a write that found another one. Returns a later one if there is. */
  async checkGeneration(): Promise<Generation | undefined> {
    const { epoch } = this;
    const key = this.prefix + GENERATION;
    const found = await readGeneration(this.store, this.prefix, [key]);
    if (epoch !== this.epoch) return undefined;
    if (found.number > this.current.number) {
      this.begin(found);
      return found;
    }
    const { number, clearedAtMs } = this.current;
    if (found.number === number) {
      this.current = { ...this.current, text: found.text };
      return undefined;
    }
    // The note was lost, or a slow clear has overwritten a later one's.
    const text = `${number}/${clearedAtMs}`;
    await this.store.replace(key, text, found.text);
    if (epoch === this.epoch) this.current = { number, clearedAtMs, text };
    return undefined;
  }

  private isUnread({ key, writer }: SegmentKey): boolean {
    return writer !== this.writer && !this.known.has(key);
  }

  private nextKey(level: number): SegmentKey {
    const parts = { generation: this.current.number, level, writer: this.writer, number: this.nextNumber++ };
    return { ...parts, key: segmentKey(this.prefix, parts) };
  }

  /** The texts that are still there, by key. */
  private async readTexts(parts: readonly GenerationKey[]): Promise<Map<string, string>> {
    const found = new Map<string, string>();
    if (parts.length === 0) return found;
    const texts = await this.store.read(parts.map(({ key }) => key));
    for (const [index, { key }] of parts.entries()) {
      const text = texts[index];
      if (text !== undefined) found.set(key, text);
    }
    return found;
  }
}

function segmentsAmong(texts: ReadonlyMap<string, string>, segments: readonly SegmentKey[]): StoredSegment[] {
  return segments.flatMap((segment) => {
    const text = texts.get(segment.key);
    return text === undefined ? [] : [{ ...segment, text }];
  });
}
