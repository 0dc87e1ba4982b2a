/**
 * Transfers strings into the Wasm memory: ids, shards, rows.
 *
 * They are joined and written by one call of `encodeInto`: a call for each would cost more than the filter itself.
 */
import type { TextBatch } from "../generated/client/seenguard.js";
import { createEncoder } from "../platform/text-encoding.js";
import type { ItemId } from "../types/seenguard.js";

/** Any character of one byte: surrogates at the end of a string and the start of the next must not form a pair. */
const SEPARATOR = "\0";
/** The longest batch, UTF-16 units: JavaScript engines refuse strings of twice this. */
const MAX_UNITS = 1 << 28;
/** UTF-8 takes at most three bytes for a UTF-16 unit. */
const BYTES_PER_UNIT = 3;
/** A batch frees its memory if it used more than this. */
const MAX_CACHED_BYTES = 1 << 20;

/** The memory of a Wasm module, or the array that the engine as JavaScript has instead. */
export interface EngineMemory {
  readonly buffer: ArrayBuffer;
}

/** Writes strings into the engine's batch, and reads the indices that calls return in it. */
export class TextBatchWriter<Batch extends TextBatch = TextBatch> {
  readonly batch: Batch;
  private readonly memory: EngineMemory;
  private readonly encoder = createEncoder();
  // Views of the memory are cached while its buffer is the same: for a page of a feed, creating them takes as long as
  // filtering. Growing the memory replaces the buffer.
  private bytes = new Uint8Array(0);
  private ends = new Uint32Array(0);
  private results = new Uint32Array(0);

  constructor(batch: Batch, memory: EngineMemory) {
    this.batch = batch;
    this.memory = memory;
  }

  /** Writes the strings of these ids. Returns whether they fit into memory. */
  write(ids: readonly ItemId[]): boolean {
    const ends = (this.ends = this.viewAt(this.batch.reserveEnds(ids.length), ids.length, this.ends));
    let joined = "";
    // Appending is the fastest way: JavaScript engines copy only when the whole string is read.
    for (let index = 0; index < ids.length; index++) {
      joined += ids[index] as string;
      if (joined.length > MAX_UNITS) return false;
      ends[index] = joined.length;
    }
    return this.encode(joined) || this.encodeSeparated(ids);
  }

  /** A copy of the indices that the last call has written into the batch. */
  indices(count: number): Uint32Array {
    this.results = this.viewAt(this.batch.indices(), count, this.results);
    return this.results.slice(0, count);
  }

  /** Frees the memory of an unusually large batch. */
  done(): void {
    if (this.bytes.length <= MAX_CACHED_BYTES) return;
    this.batch.reserve(0);
    this.bytes = new Uint8Array(0);
  }

  /** Writes ASCII, as most ids are: each unit is a byte. Returns whether the string is ASCII, and fits. */
  private encode(joined: string): boolean {
    if (!this.reserve(joined.length)) return false;
    const { read, written } = this.encoder.encodeInto(joined, this.bytes);
    return read === joined.length && written === read;
  }

  /** Writes strings with other characters; the batch finds their ends. */
  private encodeSeparated(ids: readonly ItemId[]): boolean {
    const joined = ids.join(SEPARATOR);
    if (!this.reserve(BYTES_PER_UNIT * joined.length)) return false;
    this.batch.separated(this.encoder.encodeInto(joined, this.bytes).written);
    return true;
  }

  /** Reserves this many bytes. Returns whether they fit into memory. */
  private reserve(bytes: number): boolean {
    if (this.bytes.buffer === this.memory.buffer && this.bytes.length >= bytes) return true;
    const address = this.batch.reserve(bytes);
    if (address !== 0) this.bytes = new Uint8Array(this.memory.buffer, address >>> 0, bytes);
    return address !== 0;
  }

  /** Returns `view` if it has this address and is long enough, else a new one. */
  private viewAt(address: number, count: number, view: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
    const start = address >>> 0;
    const { buffer } = this.memory;
    if (view.buffer === buffer && view.byteOffset === start && view.length >= count) return view;
    return new Uint32Array(buffer, start, count);
  }
}
