/** From items to ids, and from ids to one batch in the Wasm memory. */
import type { IdOf, ItemId } from "./types/seenguard.js";

/** Ids of a list's items; where some have none, the places of those that have. */
export interface CollectedIds {
  readonly ids: ItemId[];
  /** Index of each id's item; absent if every item has an id. */
  readonly places?: number[] | undefined;
}

/** Whether a value can be an id. A number that is not a safe integer cannot: `JSON.parse` has already rounded it. */
export function isUsable(id: unknown): id is ItemId {
  return typeof id === "string" || typeof id === "bigint" || Number.isSafeInteger(id);
}

/** The id of an item that is one, or has a property `id`. */
function ownId(item: unknown): unknown {
  return typeof item === "object" ? (item as { id?: unknown } | null)?.id : item;
}

/** The ids of a list's items, which they are themselves or have, unless `idOf` is a function. Never throws: an item whose id cannot be had has none. */
export function collectIds<T>(items: readonly T[], idOf?: IdOf<T>): CollectedIds {
  if (typeof idOf === "function") return collectEach(items, idOf);
  const texts = collectTexts(items);
  return texts ? { ids: texts } : collectEach(items, ownId);
}

/** The ids of a list in which every one is a text, as most are: this loop is the shortest there is. */
function collectTexts(items: readonly unknown[]): string[] | undefined {
  try {
    const texts: unknown[] = [...items];
    for (let index = 0; index < texts.length; index++) {
      const item = texts[index];
      if (typeof item === "string") continue;
      const id = ownId(item);
      if (typeof id !== "string") return undefined;
      texts[index] = id;
    }
    return texts as string[];
  } catch {
    // One that cannot be read leaves the others theirs.
    return undefined;
  }
}

function collectEach<T>(items: readonly T[], idOf: (item: T) => unknown): CollectedIds {
  const ids: ItemId[] = [];
  let places: number[] | undefined;
  for (let index = 0; index < items.length; index++) {
    let id: unknown;
    try {
      id = idOf(items[index] as T);
    } catch {
      id = undefined;
    }
    if (isUsable(id)) {
      ids.push(id);
      places?.push(index);
    } else {
      places ??= ids.map((_, place) => place);
    }
  }
  return { ids, places };
}

/** The usable ids of what `record` takes: one id or several. Never throws. */
export function collectRecorded(ids: unknown): ItemId[] {
  if (isUsable(ids)) return [ids];
  const usable: ItemId[] = [];
  try {
    for (const id of ids as Iterable<unknown>) if (isUsable(id)) usable.push(id);
  } catch {
    // Not iterable, or it broke off: what came before counts.
  }
  return usable;
}

/** An array from whatever was passed as a list: never throws. */
export function listOf<T>(items: readonly T[]): readonly T[] {
  try {
    // Reading a proxy's length may throw, as may asking what a revoked one is.
    return Array.isArray(items) && items.length >= 0 ? (items as readonly T[]) : Array.from(items as Iterable<T>);
  } catch {
    return [];
  }
}

/** The fresh items of a list and those without an id, in their order. `fresh` are indices of ids, `places` where their items are. */
export function freshItems<T>(
  list: readonly T[],
  places: CollectedIds["places"],
  fresh: ArrayLike<number> & Iterable<number>,
): T[] {
  if (!places) {
    const kept = new Array<T>(fresh.length);
    for (let place = 0; place < kept.length; place++) kept[place] = itemAt(list, fresh[place] ?? 0);
    return kept;
  }
  const passes = new Uint8Array(list.length).fill(1);
  for (const place of places) passes[place] = 0;
  for (const index of fresh) passes[places[index] ?? 0] = 1;
  return passing(list, (index) => passes[index] === 1);
}

/** An item of a list; one that cannot be read is `undefined`. */
function itemAt<T>(list: readonly T[], index: number): T {
  try {
    return list[index] as T;
  } catch {
    return undefined as T;
  }
}

/** The items of a list that pass, in their order. A hole is an item without an id, which `Array.prototype.filter` would pass over. */
export function passing<T>(list: readonly T[], passes: (index: number) => boolean): T[] {
  const kept: T[] = [];
  for (let index = 0; index < list.length; index++) if (passes(index)) kept.push(itemAt(list, index));
  return kept;
}

/** What the Wasm module offers for its batch, in Rust `src/web/batch.rs`. */
export interface Batch {
  readonly memory: WebAssembly.Memory;
  reserve(bytes: number): number;
  reserveEnds(count: number): number;
  widen(bytes: number): void;
  fresh(): number;
  shrink(bytes: number): void;
}

/** Any byte that is a character by itself: halves of a character that two ids end and begin with must not become one. */
const SEPARATOR = "\0";
/** The most bytes that UTF-8 takes for a UTF-16 unit. */
const WIDEST = 3;
/** A batch that took more memory than this gives it back. */
const KEPT_BYTES = 1 << 20;

const encoder = new TextEncoder();

/** Writes ids into the Wasm memory: one text, one call of `encodeInto`. */
export class BatchWriter {
  readonly #batch: Batch;
  // Views of places in the memory, which are used again as long as they are there: for a page of a feed, making them costs as much as filtering.
  // When the memory grows they become empty.
  #bytes = new Uint8Array(0);
  #ends = new Uint32Array(0);
  #fresh = new Uint32Array(0);

  constructor(batch: Batch) {
    this.#batch = batch;
  }

  /** Whether the ids are there now. False if there is no memory for them. */
  write(ids: readonly ItemId[]): boolean {
    const count = ids.length;
    const start = this.#batch.reserveEnds(count);
    if (start === 0) return false;
    const ends = (this.#ends = this.#numbers(this.#ends, start, count));
    // Adding texts one to the other is the quickest way there is: engines put off the copying until the whole is asked for.
    let text = "";
    for (let index = 0; index < count; index++) {
      text += ids[index] as string;
      ends[index] = text.length;
    }
    if (!this.#makeRoom(text.length)) return false;
    const { read, written } = encoder.encodeInto(text, this.#bytes);
    // Of ASCII alone, as most ids are, each unit is a byte.
    return (read === text.length && written === read) || this.#writeWide(ids.join(SEPARATOR));
  }

  /** The way of ids that are not ASCII alone: the module finds where they end. */
  #writeWide(text: string): boolean {
    if (!this.#makeRoom(WIDEST * text.length)) return false;
    this.#batch.widen(encoder.encodeInto(text, this.#bytes).written);
    return true;
  }

  /** Whether there is room for so many bytes: where it was, unless that is too small. */
  #makeRoom(bytes: number): boolean {
    if (this.#bytes.length >= bytes) return true;
    const start = this.#batch.reserve(bytes);
    if (start !== 0) this.#bytes = new Uint8Array(this.#batch.memory.buffer, start >>> 0, bytes);
    return start !== 0;
  }

  /** The indices of the fresh ids after a filter. */
  fresh(count: number): Uint32Array {
    this.#fresh = this.#numbers(this.#fresh, this.#batch.fresh(), count);
    return this.#fresh.slice(0, count);
  }

  /** Gives back the memory of an unusually large batch. */
  done(): void {
    if (this.#bytes.length <= KEPT_BYTES) return;
    this.#batch.shrink(KEPT_BYTES);
    this.#bytes = new Uint8Array(0);
  }

  /** The same view again, if it is of this place and long enough. */
  #numbers(view: Uint32Array<ArrayBuffer>, start: number, count: number): Uint32Array<ArrayBuffer> {
    const place = start >>> 0;
    if (view.byteOffset === place && view.length >= count) return view;
    return new Uint32Array(this.#batch.memory.buffer, place, count);
  }
}
