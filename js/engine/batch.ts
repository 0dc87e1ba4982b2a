/**
 * Texts on their way into the Wasm memory: ids, shards, segments.
 *
 * They cross as one text by one call of `encodeInto`, because a call for each costs more than the filter itself. What
 * would make too large a text is split, and the caller asks for part after part.
 */
import type { TextBatch } from "../generated/client/seenguard.js";
import type { ItemIdList } from "../ids.js";
import { createEncoder } from "../text-encoding.js";
import type { ItemId } from "../types/seenguard.js";

/** A part ends where it has become this long (UTF-16 units) … */
const PART_UNITS = 4 << 20;
/** … or has this many texts. */
const PART_TEXTS = 100_000;
/** Any character of one byte: halves of a character that two texts end and begin with must not become one. */
const SEPARATOR = "\0";
/** UTF-8 takes at most three bytes for a UTF-16 unit. */
const BYTES_PER_UNIT = 3;
/** A batch that took more memory than this gives it back. */
const KEPT_BYTES = 1 << 20;

/** A Wasm module's, or one that is an array. */
export interface EngineMemory {
  readonly buffer: ArrayBuffer;
}

/** What was written of a list of texts. */
export interface WrittenPart {
  /** Where the next part begins. */
  readonly end: number;
  /** False: there is no memory for this part. */
  readonly fits: boolean;
}

/** Writes texts into the engine's batch, and reads the indices that it answers with. */
export class TextBatchWriter {
  readonly batch: TextBatch;
  private readonly memory: EngineMemory;
  private readonly encoder = createEncoder();
  // Views of the memory are kept while they are of its buffer: for a page of a feed, making them costs as much as
  // filtering. When the memory grows it has another buffer.
  private bytes = new Uint8Array(0);
  private ends = new Uint32Array(0);
  private answer = new Uint32Array(0);

  constructor(batch: TextBatch, memory: EngineMemory) {
    this.batch = batch;
    this.memory = memory;
  }

  /** Writes the texts from `start` on, as many as one part holds. */
  writePart(texts: readonly ItemId[], start: number): WrittenPart {
    const count = Math.min(texts.length - start, PART_TEXTS);
    return this.write(texts, start, count, PART_UNITS);
  }

  /** Writes the ids of all items as one part. Returns whether there is memory for them. */
  writeAllItems({ ids, ends }: ItemIdList): boolean {
    return this.writeAll(ids) && (!ends || this.writeItemEnds(ends));
  }

  /** Says which ids in the batch belong together. Returns whether there is memory for it. */
  private writeItemEnds(ends: readonly number[]): boolean {
    const place = this.batch.reserveItems(ends.length);
    if (place === 0) return false;
    new Uint32Array(this.memory.buffer, place >>> 0, ends.length).set(ends);
    return true;
  }

  /** Writes all texts as one part. Returns whether there is memory for them. */
  writeAll(texts: readonly ItemId[]): boolean {
    return this.write(texts, 0, texts.length, Infinity).fits;
  }

  /** The indices that the last call left in the batch. */
  indices(count: number): Uint32Array {
    this.answer = this.numbersAt(this.batch.indices(), count, this.answer);
    return this.answer.slice(0, count);
  }

  /** Gives back the memory of an unusually large batch. */
  done(): void {
    if (this.bytes.length <= KEPT_BYTES) return;
    this.batch.shrink();
    this.bytes = new Uint8Array(0);
  }

  private write(texts: readonly ItemId[], start: number, most: number, mostUnits: number): WrittenPart {
    const place = this.batch.reserveEnds(most);
    if (place === 0) return { end: start + most, fits: false };
    const ends = (this.ends = this.numbersAt(place, most, this.ends));
    let count = 0;
    let text = "";
    try {
      // Appending is the quickest way there is: engines put off the copying until the whole text is asked for.
      while (count < most && text.length < mostUnits) {
        text += texts[start + count] as string;
        ends[count] = text.length;
        count++;
      }
    } catch (cause) {
      // The next text would make this one longer than the JavaScript engine's longest: it begins a part of its own.
      if (!(cause instanceof RangeError)) throw cause;
      if (count === 0 || mostUnits === Infinity) return { end: start + 1, fits: false };
    }
    if (count < most) this.cutEnds(count);
    const end = start + count;
    return { end, fits: this.encode(text) || this.encodeSeparated(texts, start, end) };
  }

  /** Leaves the first ends alone in the batch. */
  private cutEnds(count: number): void {
    const kept = this.ends.slice(0, count);
    const place = this.batch.reserveEnds(count);
    this.ends = this.numbersAt(place, count, this.ends);
    this.ends.set(kept);
  }

  /** Writes a text of ASCII alone, as most ids are: each unit is a byte. Returns whether it is one, and fits. */
  private encode(text: string): boolean {
    if (!this.reserve(text.length)) return false;
    const { read, written } = this.encoder.encodeInto(text, this.bytes);
    return read === text.length && written === read;
  }

  /** Writes texts with other characters; the batch finds where they end. */
  private encodeSeparated(texts: readonly ItemId[], start: number, end: number): boolean {
    const text = texts.slice(start, end).join(SEPARATOR);
    if (!this.reserve(BYTES_PER_UNIT * text.length)) return false;
    this.batch.separated(this.encoder.encodeInto(text, this.bytes).written);
    return true;
  }

  /** Makes room for so many bytes. Returns whether there is memory for them. */
  private reserve(bytes: number): boolean {
    if (this.bytes.buffer === this.memory.buffer && this.bytes.length >= bytes) return true;
    const place = this.batch.reserve(bytes);
    if (place !== 0) this.bytes = new Uint8Array(this.memory.buffer, place >>> 0, bytes);
    return place !== 0;
  }

  /** `view` again if it is of this place and long enough, else a new one. */
  private numbersAt(place: number, count: number, view: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
    const start = place >>> 0;
    const { buffer } = this.memory;
    if (view.buffer === buffer && view.byteOffset === start && view.length >= count) return view;
    return new Uint32Array(buffer, start, count);
  }
}
