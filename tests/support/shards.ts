/**
 * Valid and invalid shards, built byte by byte by the description of the format, since no writer writes invalid ones;
 * values of `Seen-Pending` for several devices of a person; and ids.
 */
import type { Report } from "seenguard/server";

const MASK = (1n << 64n) - 1n;
const [P1, P2, P3, P4, P5] = [
  0x9e3779b185ebca87n,
  0xc2b2ae3d27d4eb4fn,
  0x165667b19e3779f9n,
  0x85ebca77c2b2ae63n,
  0x27d4eb2f165667c5n,
];

/** XXH64 by its specification, slow and plain. */
export function xxh64(bytes: Uint8Array, seed = 0n): bigint {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const multiply = (a: bigint, b: bigint) => (a * b) & MASK;
  const rotate = (value: bigint, by: bigint) => ((value << by) | (value >> (64n - by))) & MASK;
  const round = (lane: bigint, input: bigint) => multiply(rotate((lane + multiply(input, P2)) & MASK, 31n), P1);

  let at = 0;
  let hash = (seed + P5) & MASK;
  if (bytes.length >= 32) {
    const lanes = [seed + P1 + P2, seed + P2, seed, seed - P1].map((lane) => lane & MASK);
    for (; at + 32 <= bytes.length; at += 32) {
      lanes.forEach((lane, index) => (lanes[index] = round(lane, view.getBigUint64(at + 8 * index, true))));
    }
    hash = lanes.reduce((sum, lane, index) => sum + rotate(lane, [1n, 7n, 12n, 18n][index] ?? 0n), 0n) & MASK;
    for (const lane of lanes) hash = (multiply(hash ^ round(0n, lane), P1) + P4) & MASK;
  }
  hash = (hash + BigInt(bytes.length)) & MASK;
  for (; at + 8 <= bytes.length; at += 8) {
    hash = (multiply(rotate(hash ^ round(0n, view.getBigUint64(at, true)), 27n), P1) + P4) & MASK;
  }
  for (; at + 4 <= bytes.length; at += 4) {
    hash = (multiply(rotate(hash ^ multiply(BigInt(view.getUint32(at, true)), P1), 23n), P2) + P3) & MASK;
  }
  for (; at < bytes.length; at++) hash = multiply(rotate(hash ^ multiply(BigInt(bytes[at] ?? 0), P5), 11n), P1);
  hash = multiply(hash ^ (hash >> 33n), P2);
  hash = multiply(hash ^ (hash >> 29n), P3);
  return hash ^ (hash >> 32n);
}

/** The bytes of an encoded shard. */
export function bytesOf(text: string): Uint8Array {
  return Uint8Array.from(Buffer.from(text, "base64"));
}

export function encode(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64");
}

const CHECKSUM_BYTES = 4;

/** The encoded shard of a body, with the right checksum. */
export function sealed(body: Uint8Array): string {
  const checksum = new DataView(new ArrayBuffer(CHECKSUM_BYTES));
  checksum.setUint32(0, Number(xxh64(body) & 0xffffffffn), true);
  return encode(Buffer.concat([body, new Uint8Array(checksum.buffer)]));
}

interface ShardFields {
  magic?: string;
  encoding?: number;
  hashes?: number;
  reserved?: number;
  bits?: number;
  count?: number;
  epoch?: number;
  expires?: number;
  payload?: readonly number[] | Uint8Array;
}

/**
 * A shard with these fields, valid or not, and the right checksum. By default a valid one of 8 bits, none of them set.
 */
export function shardOf(fields: ShardFields = {}): string {
  const { magic = "SGS1", encoding = 0, hashes = 1, reserved = 0, bits = 8 } = fields;
  const { count = 0, epoch = 1, expires = 0, payload = [0] } = fields;
  const header = new DataView(new ArrayBuffer(32));
  new Uint8Array(header.buffer).set(new TextEncoder().encode(magic));
  header.setUint8(4, encoding);
  header.setUint8(5, hashes);
  header.setUint16(6, reserved, true);
  header.setUint32(8, bits, true);
  header.setUint32(12, count, true);
  header.setUint32(24, epoch, true);
  header.setUint32(28, expires, true);
  return sealed(Buffer.concat([new Uint8Array(header.buffer), Uint8Array.from(payload)]));
}

/** A Rice payload: the parameter r, the claimed number of set bits, and the bit stream. */
export function rice(r: number, claimed: number, ...stream: number[]): number[] {
  return [r, claimed & 255, (claimed >> 8) & 255, (claimed >> 16) & 255, claimed >>> 24, ...stream];
}

const base36 = (value: bigint, length: number) => value.toString(36).padStart(length, "0").slice(-length);

/** The name of a device of a namespace: 4 characters of the namespace's hash, and 8. */
export function deviceName(namespace: string, number: number): string {
  return base36(xxh64(new TextEncoder().encode(namespace)), 4) + base36(BigInt(number), 8);
}

/** The list of pending ids in `Seen-Pending`: for each the low 24 bits of its hash. */
export function pendingListOf(ids: readonly string[]): string {
  const listed = ids.map((id) => xxh64(new TextEncoder().encode(id)) & 0xffffffn);
  return Buffer.from(listed.map((bits) => bits.toString(16).padStart(6, "0")).join(""), "hex").toString("base64url");
}

/** A person's device, which makes pending lists and reports. */
export class Device {
  readonly name: string;
  private readonly namespace: string;
  private counter = 1_000;

  constructor(namespace: string, number: number) {
    this.namespace = namespace;
    this.name = deviceName(namespace, number);
  }

  /**
   * `Seen-Pending` with these ids pending. Each has a higher counter than the one before, unless it is given. `knownDeletion`
   * is the latest deletion of the history that the device knows of, in seconds.
   */
  pending(ids: readonly string[], counter = ++this.counter, knownDeletion = 0): string {
    return `${this.name}.${counter.toString(36)}.${knownDeletion.toString(36)}.${pendingListOf(ids)}`;
  }

  /** A report with a pending list. */
  report(ids: readonly string[]): Report & { pending: string } {
    const now = Date.now();
    const impressions = ids.map((id) => ({ id, at: now }));
    return { namespace: this.namespace, now, impressions, pending: this.pending(ids) };
  }
}

/** `count` ids, none of which another prefix has. */
export function idsOf(prefix: string, count: number, first = 0): string[] {
  return Array.from({ length: count }, (_, index) => `${prefix}-${String(first + index)}`);
}
