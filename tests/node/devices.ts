/** What devices send as `Seen-Pending`, made by hand: a person has several. */
import { ShardChain, type Report } from "seenguard/server";
import { xxh64 } from "./shards.js";

const base36 = (value: bigint, length: number) => value.toString(36).padStart(length, "0").slice(-length);

/** The name of a device of a namespace: 4 characters of the namespace's hash, and 8. */
export function deviceName(namespace: string, number: number): string {
  return base36(xxh64(new TextEncoder().encode(namespace)), 4) + base36(BigInt(number), 8);
}

/** A shard of these ids, or "" for nothing. */
export async function shardOfIds(ids: readonly string[], now = Date.now() / 1000): Promise<string> {
  if (ids.length === 0) return "";
  const chain = await ShardChain.create({ capacity: Math.max(ids.length, 100) });
  chain.record(ids, { now });
  const [shard = ""] = chain.snapshot({ now }).shards;
  chain.free();
  return shard;
}

/** A person's device: what it tells of itself at each moment. */
export class Device {
  readonly name: string;
  private readonly namespace: string;
  private counter = 1_000;

  constructor(namespace: string, number: number) {
    this.namespace = namespace;
    this.name = deviceName(namespace, number);
  }

  /**
   * `Seen-Pending` with these ids pending. Each has a higher counter than the one before, unless it is given. `heardOf`
   * is the latest deletion of the history that the device knows of, in seconds.
   */
  async pending(ids: readonly string[], counter = ++this.counter, heardOf?: number): Promise<string> {
    return `${this.name}.${counter.toString(36)}.${await shardOfIds(ids, heardOf)}`;
  }

  /** A report of what is pending. */
  async report(ids: readonly string[]): Promise<Report & { pending: string }> {
    const now = Date.now();
    const impressions = ids.map((id) => ({ id, at: now }));
    return { namespace: this.namespace, now, impressions, pending: await this.pending(ids) };
  }
}
