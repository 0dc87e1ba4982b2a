/**
 * Texts on their way into the Wasm memory: ids, shards, rows.
 *
 * They cross as one text by one call of `encodeInto`, because a call for each costs more than the filter itself.
 */
import type { TextBatch } from "../generated/client/seenguard.js";
import { createEncoder } from "../platform/text-encoding.js";
import type { ItemId } from "../types/seenguard.js";

/** Any character of one byte: halves of a character that two texts end and begin with must not become one. */
const SEPARATOR = "\0";
/** Of what is longer (UTF-16 units) there is no memory: JavaScript engines refuse texts of twice this. */
const MAX_UNITS = 1 << 28;
/** UTF-8 takes at most three bytes for a UTF-16 unit. */
const BYTES_PER_UNIT = 3;
/** A batch that took more memory than this gives it back. */
const KEPT_BYTES = 1 << 20;

/** A Wasm module's, or one that is an array. */
export interface EngineMemory {
  readonly buffer: ArrayBuffer;
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

  /** Writes texts. Returns whether there is memory for them. */
  write(texts: readonly ItemId[]): boolean {
    const ends = (this.ends = this.numbersAt(this.batch.reserveEnds(texts.length), texts.length, this.ends));
    let text = "";
    // Appending is the quickest way there is: engines put off the copying until the whole text is asked for.
    for (let index = 0; index < texts.length; index++) {
      text += texts[index] as string;
      if (text.length > MAX_UNITS) return false;
      ends[index] = text.length;
    }
    return this.encode(text) || this.encodeSeparated(texts);
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

  /** Writes a text of ASCII alone, as most ids are: each unit is a byte. Returns whether it is one, and fits. */
  private encode(text: string): boolean {
    if (!this.reserve(text.length)) return false;
    const { read, written } = this.encoder.encodeInto(text, this.bytes);
    return read === text.length && written === read;
  }

  /** Writes texts with other characters; the batch finds where they end. */
  private encodeSeparated(texts: readonly ItemId[]): boolean {
    const text = texts.join(SEPARATOR);
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
