/**
 * The snapshot in use, kept across visits: an index, which is the engine's business, and each shard under its
 * reference, so that a sealed shard is written once.
 *
 * Shards are written before the index that names them, and removed after it. Tabs with different shards take away each
 * other's: the index that was written last is in force, and a shard that it names and nobody finds is not held.
 */
import { HELD, heldKey } from "./keys.js";
import type { SegmentLog } from "./segment-log.js";
import { WHOLE, type SegmentState, type StoredSnapshot, type Table } from "./segment.js";

/** What is stored of the snapshot in use. */
export class HeldShards {
  private changes = 0;
  private written = 0;
  /** Keys of texts that were read and not used, since they may be damaged. */
  private unreliable: ReadonlySet<string> = new Set();

  /** Whether there is nothing to write. */
  get isWritten(): boolean {
    return this.written === this.changes;
  }

  /** Another snapshot is in use. */
  changed(): void {
    this.changes++;
  }

  /** The changes so far are not to be written. */
  skip(): void {
    this.written = this.changes;
  }

  /** Gives what was read to the table. Returns the state of its index. */
  load(log: SegmentLog, table: Table, texts: ReadonlyMap<string, string>): SegmentState {
    const held = [...texts].filter(([key]) => key.startsWith(log.prefix + HELD));
    if (held.length === 0) return WHOLE;
    const index = texts.get(indexKey(log));
    // The last part of a shard's key is its reference.
    const shards = new Map(held.map(([key, text]) => [key.slice(key.lastIndexOf("/") + 1), text]));
    const state = index === undefined ? WHOLE : table.loadSnapshot(index, shards);
    const used = textsOf(log, table.storedSnapshot());
    this.unreliable = new Set(held.filter(([key, text]) => used.get(key) !== text).map(([key]) => key));
    return state;
  }

  /** Writes what is not there yet, then removes what is not in use. Returns as `SegmentLog.writeTexts`. */
  async write(log: SegmentLog, snapshot: StoredSnapshot | undefined): Promise<boolean | undefined> {
    const { changes } = this;
    const present = await log.store.keys(log.prefix + HELD);
    const texts = textsOf(log, snapshot);
    const reliable = new Set(present.filter((key) => key !== indexKey(log) && !this.unreliable.has(key)));
    const absent = [...texts].filter(([key]) => !reliable.has(key));
    const isWritten = absent.length === 0 || (await log.writeTexts(Object.fromEntries(absent)));
    if (!isWritten) return isWritten;
    const unused = present.filter((key) => !texts.has(key));
    if (unused.length > 0) await log.store.remove(unused);
    this.unreliable = new Set();
    this.written = changes;
    return true;
  }

  /** Removes what is stored, to make room. Returns whether there was anything. */
  async removeAll(log: SegmentLog): Promise<boolean> {
    const keys = await log.store.keys(log.prefix + HELD);
    if (keys.length === 0) return false;
    await log.store.remove(keys);
    this.skip();
    return true;
  }
}

function indexKey({ prefix, generation }: SegmentLog): string {
  return heldKey(prefix, generation.number);
}

/** What is stored of a snapshot, by key: its index last. */
function textsOf(log: SegmentLog, snapshot: StoredSnapshot | undefined): Map<string, string> {
  if (!snapshot) return new Map();
  const { prefix, generation } = log;
  const texts = snapshot.shards.map(({ reference, text }): [string, string] => [
    heldKey(prefix, generation.number, reference),
    text,
  ]);
  return new Map([...texts, [indexKey(log), snapshot.index]]);
}
