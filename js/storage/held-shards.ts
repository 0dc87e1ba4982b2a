/**
 * The snapshot in use, kept across visits: an index, which is the engine's business, and each shard under its
 * reference, so that a sealed shard is written once.
 *
 * Shards are written before the index that names them, and removed after it. Tabs with different shards take away each
 * other's: the index that was written last is in force, and a shard that it names and nobody finds is not held.
 */
import { HELD, heldKey } from "./keys.js";
import type { SegmentLog } from "./segment-log.js";
import type { StoredSnapshot } from "./segment.js";

/** What is stored of the snapshot in use. */
export class HeldShards {
  private changes = 0;
  private written = 0;

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

  /** Writes what is not there yet, then removes what is not in use. Returns as `SegmentLog.writeTexts`. */
  async write(log: SegmentLog, snapshot: StoredSnapshot | undefined): Promise<boolean | undefined> {
    const { changes } = this;
    const present = await log.store.keys(log.prefix + HELD);
    const { shards = [], index } = snapshot ?? {};
    const keyOf = (reference?: string) => heldKey(log.prefix, log.generation.number, reference);
    const used = new Map(shards.map(({ reference, text }) => [keyOf(reference), text]));
    const absent = [...used].filter(([key]) => !present.includes(key));
    if (index !== undefined) {
      absent.push([keyOf(), index]);
      used.set(keyOf(), index);
    }
    const isWritten = absent.length === 0 || (await log.writeTexts(Object.fromEntries(absent)));
    if (!isWritten) return isWritten;
    const unused = present.filter((key) => !used.has(key));
    if (unused.length > 0) await log.store.remove(unused);
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
