/**
 * Compares chains of the same capacity and total false positive rate, in few large shards or many small ones: bytes on
 * the wire and in the store.
 */
import { SeenGuard, type Snapshot } from "seenguard";
import { ShardChain } from "seenguard/server";
import { shortIds } from "./ids.ts";

export interface ShardSizes {
  readonly shards: number;
  readonly capacity: number;
  readonly falsePositiveRate: number;
}

/** The bytes of the uncompressed JSON. */
export interface ShardCosts {
  readonly name: string;
  /** The snapshot for a device without shards; the server's store and the device's have as many bytes. */
  readonly whole: number;
  /** The snapshot of a refresh, references included: the mean, and that of the worst session. */
  readonly refresh: number;
  readonly worst: number;
  /** The snapshot of a refresh without references. */
  readonly unreferenced: number;
  /** The value of a device's `Seen-Held`. */
  readonly held: number;
  /** The share of fresh ids that are stopped. */
  readonly falsePositiveRate: number;
}

/** The first are the defaults. */
export const shardSizes: readonly ShardSizes[] = [
  { shards: 5, capacity: 1000, falsePositiveRate: 0.001 },
  { shards: 10, capacity: 500, falsePositiveRate: 0.0005 },
  { shards: 20, capacity: 250, falsePositiveRate: 0.00025 },
  { shards: 32, capacity: 160, falsePositiveRate: 0.00015625 },
];

/**
 * The number of sessions. Together they fill two of the largest shards, so each starts at another fill of the newest.
 */
const SESSIONS = 10;
const REFRESHES = 20;
const IMPRESSIONS_A_REFRESH = 10;
/** The most ids of one call. */
const IDS_A_CALL = 20_000;
const FRESH_IDS = 200_000;

export const nameOf = ({ shards, capacity }: ShardSizes): string => `${String(shards)} × ${String(capacity)}`;

const sizeOf = ({ shards }: Snapshot): number => JSON.stringify(shards).length;

/** Runs sessions one after the other, the first with a chain whose shards are all full. */
export async function weighShards(sizes: ShardSizes): Promise<ShardCosts> {
  const chain = await fullChain(sizes);
  const guard = await openGuard();
  const whole = chain.snapshot();
  guard.apply(whole);
  const ids = shortIds(FRESH_IDS, 1);
  let fresh = 0;
  for (let start = 0; start < FRESH_IDS; start += IDS_A_CALL)
    fresh += guard.filter(ids.slice(start, start + IDS_A_CALL)).length;
  const falsePositiveRate = 1 - fresh / FRESH_IDS;

  const sessions: number[] = [];
  let [unreferenced, held] = [0, 0];
  for (let session = 0; session < SESSIONS; session++) {
    let sent = 0;
    for (let refresh = 0; refresh < REFRESHES; refresh++) {
      chain.record(shortIds(IMPRESSIONS_A_REFRESH, 1000 * (session + 1) + refresh));
      const named = heldBy(guard);
      const snapshot = chain.snapshot({ held: named });
      if (!guard.apply(snapshot).applied) throw new Error("a reference was not resolved");
      sent += sizeOf(snapshot);
      unreferenced += sizeOf(chain.snapshot());
      held += named.length;
    }
    sessions.push(sent / REFRESHES);
  }
  chain.free();
  await guard.close();
  return {
    name: nameOf(sizes),
    whole: sizeOf(whole),
    refresh: sessions.reduce((sum, sent) => sum + sent, 0) / SESSIONS,
    worst: Math.max(...sessions),
    unreferenced: unreferenced / (SESSIONS * REFRESHES),
    held: held / (SESSIONS * REFRESHES),
    falsePositiveRate,
  };
}

function openGuard(): Promise<SeenGuard> {
  return SeenGuard.open({ namespace: `bench:${String(Math.random())}`, storage: "none" });
}

/** More ids than all shards hold, from a seed that is not used above. */
const seenBy = ({ shards, capacity }: ShardSizes): string[] => shortIds(shards * capacity * 2, 1_000_000);

/** A chain whose shards are all full. */
async function fullChain(sizes: ShardSizes): Promise<ShardChain> {
  const chain = await ShardChain.create(sizes);
  const ids = seenBy(sizes);
  const sealed = (sizes.shards - 1) * sizes.capacity;
  chain.record(ids.slice(0, sealed));
  for (const id of ids.slice(sealed)) {
    chain.record(id);
    const { version = 0, shards } = chain.snapshot();
    if (shards.length === sizes.shards && version % 2 ** 21 === sizes.capacity) return chain;
  }
  throw new Error("there are too few ids to fill a chain");
}

function heldBy(guard: SeenGuard): string {
  return guard.headers()["Seen-Held"] ?? "";
}
