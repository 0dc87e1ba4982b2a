/**
 * Transfer of texts into the Wasm memory: ids, shards, rows.
 *
 * They are transferred as one text by one call of `encodeInto`: a call for each would cost more than the filter itself.
 */
import type { Guard } from "../generated/client/seenguard.js";
import type { Encoder } from "../platform/text-encoding.js";
import type { ItemId } from "../types/seenguard.js";

/** Any character of one byte: surrogates at the end of a text and the start of the next must not form a pair. */
const SEPARATOR = "\0";
/** The longest batch, UTF-16 units: JavaScript engines refuse texts of twice this. */
const MAX_UNITS = 1 << 28;
/** UTF-8 takes at most three bytes for a UTF-16 unit. */
const BYTES_PER_UNIT = 3;
/** A batch frees its memory if it used more than this. */
const KEPT_BYTES = 1 << 20;

/** The memory of a Wasm module, or an array in its place. */
export interface EngineMemory {
  readonly buffer: ArrayBuffer;
}

/** A guard, or the batch of the server's classes. */
type TextBatch = Pick<Guard, "reserve" | "ends" | "separated" | "indices">;

/** Writes texts into the engine's memory, and reads the indices that it returns. */
export class TextBatchWriter<Batch extends TextBatch = TextBatch> {
  readonly batch: Batch;
  private readonly memory: EngineMemory;
  private readonly encoder: Encoder;
  // Views of the memory are cached while its buffer is the same: for a page of a feed, creating them takes as long as
  // filtering. Growing the memory replaces the buffer.
  private bytes = new Uint8Array(0);
  private ends = new Uint32Array(0);
  private answer = new Uint32Array(0);

  constructor(batch: Batch, { memory, encoder }: { readonly memory: EngineMemory; readonly encoder: Encoder }) {
    this.batch = batch;
    this.memory = memory;
    this.encoder = encoder;
  }

  /** Writes texts. Returns whether there is memory for them. */
  write(texts: readonly ItemId[]): boolean {
    const ends = (this.ends = this.numbersAt(this.batch.ends(texts.length), texts.length, this.ends));
    let text = "";
    // Appending is the fastest way: engines copy only when the whole text is read.
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
    this.batch.reserve(0);
    this.bytes = new Uint8Array(0);
  }

  /** Writes an ASCII text, as most ids are: each unit is a byte. Returns whether it is ASCII, and fits. */
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

  /** Reserves this many bytes. Returns whether there is memory for them. */
  private reserve(bytes: number): boolean {
    if (this.bytes.buffer === this.memory.buffer && this.bytes.length >= bytes) return true;
    const place = this.batch.reserve(bytes);
    if (place !== 0) this.bytes = new Uint8Array(this.memory.buffer, place >>> 0, bytes);
    return place !== 0;
  }

  /** Returns `view` if it has this address and is long enough, else a new one. */
  private numbersAt(place: number, count: number, view: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
    const start = place >>> 0;
    const { buffer } = this.memory;
    if (view.buffer === buffer && view.byteOffset === start && view.length >= count) return view;
    return new Uint32Array(buffer, start, count);
  }
}
