/** What devices send as `Seen-Pending`, made by hand: a person has several. */
import type { Report } from "seenguard/server";
import { xxh64 } from "./shards.js";

const base36 = (value: bigint, length: number) => value.toString(36).padStart(length, "0").slice(-length);

/** The name of a device of a namespace: 4 characters of the namespace's hash, and 8. */
export function deviceName(namespace: string, number: number): string {
  return base36(xxh64(new TextEncoder().encode(namespace)), 4) + base36(BigInt(number), 8);
}

/** What a device with these ids pending lists of them: of each the low 24 bits of its hash. */
export function pendingListOf(ids: readonly string[]): string {
  const listed = ids.map((id) => xxh64(new TextEncoder().encode(id)) & 0xffffffn);
  return Buffer.from(listed.map((bits) => bits.toString(16).padStart(6, "0")).join(""), "hex").toString("base64url");
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
  pending(ids: readonly string[], counter = ++this.counter, heardOf = 0): string {
    return `${this.name}.${counter.toString(36)}.${heardOf.toString(36)}.${pendingListOf(ids)}`;
  }

  /** A report of what is pending. */
  report(ids: readonly string[]): Report & { pending: string } {
    const now = Date.now();
    const impressions = ids.map((id) => ({ id, at: now }));
    return { namespace: this.namespace, now, impressions, pending: this.pending(ids) };
  }
}
