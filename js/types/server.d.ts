/** `seenguard/server`: Node, Deno, Bun, workers at the edge; a browser, too. All formats. Needs no DOM types. */
import type { Identified, IdOf, Impression, ItemId, SeenGuardError, ShardFormat, Snapshot } from "./seenguard.js";
export { SeenGuardError } from "./seenguard.js";
export type { ErrorCode, Identified, IdOf, Impression, ItemId, Report, ShardFormat, Snapshot } from "./seenguard.js";

/** One user's shards, and beside them what is unseen and when the history was deleted. */
export declare class ShardChain {
  private constructor();
  static create(options?: ChainOptions): Promise<ShardChain>;
  /**
   * Goes on from what the store holds: a list of shards, or a snapshot, whose `unseen` and `forgetBefore` it takes. An
   * element that cannot be read (a reference is one) counts for nothing and is listed in `rejected`. A newest shard of
   * other parameters than the options' goes on until it is full, if it lives as long as `ttlSeconds` demands.
   */
  static from(stored: Snapshot | readonly string[], options?: ChainOptions): Promise<ShardChain>;
  readonly rejected: readonly { index: number; reason: string }[];
  /**
   * Inserts each id that the newest shard does not contain, and takes it off `unseen`; returns how many no live shard
   * contained. An id that is not usable is left out.
   */
  record(ids: ItemId | Iterable<ItemId>, options?: { now?: number }): number;
  /**
   * Takes in what a device reported; long afterwards the same as at once. An impression from before `forgetBefore`, or
   * from before the id became unseen, changes nothing. Returns how many ids no live shard contained. Throws
   * `bad-report` for what `parseReport` has not returned.
   */
  ingest(report: ReceivedReport): number;
  /**
   * Makes ids unseen, as `SeenGuard.unsee`: fresh here and in snapshots until they are recorded again. At most 1,000 and
   * 64 KB, the newest; what no live shard contains is dropped. Throws `bad-report` for an id of more than 256 bytes.
   */
  unsee(ids: ItemId | Iterable<ItemId>, options?: { now?: number }): void;
  /** Deletes the history as of now, rounded up to a second: no shards, and `forgetBefore`. */
  forget(options?: { now?: number }): void;
  has(id: ItemId, options?: { now?: number }): boolean;
  /**
   * The items that no live shard contains or that are unseen, a duplicate id once; an item without a usable id is
   * kept. `pending`: what the device sent as `Seen-Pending`, left out for this once and never united with the chain;
   * what cannot be read is as if it were not there.
   */
  filter<T extends Identified>(
    items: readonly T[],
    options?: { pending?: string | null | undefined; now?: number },
  ): T[];
  filter<T>(items: readonly T[], options: { id: IdOf<T>; pending?: string | null | undefined; now?: number }): T[];
  /**
   * What to ship, and without `held` what to store. `held`: what the device sent as `Seen-Held`; shards named
   * there become references; what is not understood is as if it were not there. A shard that has not changed since it
   * was stored keeps its text.
   */
  snapshot(options?: { now?: number; held?: string | null | undefined }): Snapshot & { shards: string[] };
  free(): void;
}
/**
 * All `now` are Unix seconds of the server's clock, by default its own; over 2^32 − 1 (milliseconds) is refused with
 * `bad-option`.
 */
export interface ChainOptions {
  /** Items a shard. @default 1000 */
  capacity?: number;
  /** @default 5 */
  shards?: number;
  /** Of each full shard. @default 0.001 */
  falsePositiveRate?: number;
  /** One for a deployment: a whole number below 2^64. @default 0 */
  seed?: number | bigint;
  /**
   * No item is forgotten earlier than this, unless (shards − 1) · capacity others were inserted since, nor kept longer
   * than this × (1 + 1 / max(1, shards − 1)); 0: by capacity alone. @default 0
   */
  ttlSeconds?: number;
  /**
   * What the store holds, and `snapshot` ships. A go-bloomfilter format without sizes of its own has the chain's:
   * `capacity` and `falsePositiveRate`.
   * @default "seenguard"
   */
  format?: ShardFormat | { kind: "go-bloomfilter" };
}

/**
 * Users' chains in a store, and what their devices have pending. A user is a well-formed text. Each call settles,
 * whatever the store does: a page within `patienceMs`, `degraded` if need be; what else there is within `deadlineMs`,
 * in which what passes (a failover, a load) is tried again. It then rejects with `storage`, and `cause` is what the
 * store's client said; whether the store has done it is not known.
 */
export interface SeenStore {
  /** As of now, for reading: free it afterwards. */
  read(user: string): Promise<ShardChain>;
  /**
   * Changes a chain, as of the time that `change` is given, and stores it; `change` runs again on what somebody else
   * has stored meanwhile, so that nobody's impressions are lost. Rejects with `storage` also if others were quicker all
   * the time.
   */
  update<R>(user: string, change: (chain: ShardChain, now: number) => R): Promise<R>;
  /**
   * Keeps what the device has pending, and makes a page as `pageOf`; what the person's other devices have pending is
   * left out, too, unless it is unseen. Where the store fails, the page is `degraded`.
   */
  page<T extends Identified>(user: string, ranked: readonly T[], options: Omit<PageOptions, "now">): Promise<Page<T>>;
  page<T>(user: string, ranked: readonly T[], options: Omit<PageOptions, "now"> & { id: IdOf<T> }): Promise<Page<T>>;
  /**
   * Checks a report as `parseReport`, keeps what the device has pending, and returns it: for a stream, or for
   * `ingest`. Before anything is kept it rejects with `bad-report`, `wrong-namespace`, and `too-large` for more than
   * 1,000 entries, of which the device then sends half. An entry whose id has more than 4,096 bytes, or 256 if unseen,
   * is left out. Rejects with `storage` if what is pending cannot be kept: do not acknowledge the report, and the device
   * keeps it.
   */
  accept(user: string, body: unknown): Promise<ReceivedReport>;
  /** Takes a report into the chain. Returns how many ids no live shard contained. */
  ingest(user: string, report: ReceivedReport): Promise<number>;
  /** As `ShardChain.unsee`. */
  unsee(user: string, ids: ItemId | Iterable<ItemId>): Promise<void>;
  /** As `ShardChain.forget`; what is kept of devices is removed. */
  forget(user: string): Promise<void>;
}
/**
 * By default a chain of 20 shards of 281 items each, with a false positive rate of 0.00025, and 30 days (other formats
 * than the native one: without an expiry). A given option replaces one.
 */
export interface StoreOptions extends ChainOptions {
  /**
   * The namespace of a user's devices, as `"home:" + user`: reports of another one are refused, and pending impressions
   * of another one count for nothing.
   */
  namespaceOf?: (user: string) => string;
  /** Unix seconds. @default the backend's, which all servers share; where it has no clock, this process's */
  clock?: () => number;
  /**
   * Told what cannot be read in the store and counts for nothing; that pages are degraded, once until a read succeeds;
   * and once that what devices have pending cannot be kept (a read-only replica, a full Redis). No user is named.
   * @default console.warn once for each code
   */
  onError?: (error: SeenGuardError) => void;
  /** How long after its last change to keep what a device has pending. @default 172800 */
  pendingSeconds?: number;
  /** How long a page waits for the store before it is degraded. @default 300 */
  patienceMs?: number;
  /** How long any other call may take. @default 5000 */
  deadlineMs?: number;
}
/** What the store has of a user's chain. Opaque: JSON, the same that the crate's stores have. */
export interface StoredChain {
  readonly shards: readonly string[];
  readonly fields: readonly (readonly [name: string, value: string])[];
}
/** What a backend has of a user, all of one moment. */
export interface Loaded {
  /** What `Replacement.after` was. Absent: nothing is stored. */
  stored?: StoredChain;
  /** Another one for each change of what is stored; 0 while nothing is. */
  revision: number;
  /** What is kept of devices, as `keepPending` returned it; at first an empty text. */
  kept: string;
  /** The storage's clock in Unix seconds, which all servers share, if it has one. */
  now?: number;
  /** Why what the asking device told could not be kept, if so: the page goes on without it. */
  refusal?: unknown;
}
/** What a backend is to have of a user from now on. */
export interface Replacement {
  /** Of what it replaces. */
  readonly revision: number;
  /** What it replaces. */
  readonly before: StoredChain;
  readonly after: StoredChain;
  /** For how many seconds to keep it; 0: for ever. */
  readonly lifeSeconds: number;
}
/** What a device told, to keep: JSON. */
export interface PendingToKeep {
  readonly text: string;
  /** Unix seconds. */
  readonly at: number;
  readonly lifeSeconds: number;
}
/**
 * Where users' chains are. A call may take as long as it likes: `seenStore` has the deadlines, and makes a change again
 * until no other has come between. What it rejects with is tried again, unless its property `isTransient` is false.
 */
export interface Backend {
  /** Loads what is there of a user, after keeping what a device told. */
  load(user: string, told?: PendingToKeep): Promise<Loaded>;
  /** Keeps what a device told, and no more. */
  keep(user: string, told: PendingToKeep): Promise<void>;
  /** Stores a chain if the revision is still the one that was loaded. Else it changes nothing, and resolves to false. */
  replace(user: string, replacement: Replacement): Promise<boolean>;
  /** The same, and removes what is kept of the user's devices in the same step. */
  forget(user: string, replacement: Replacement): Promise<boolean>;
}
/** A store over a backend, ours or the app's. */
export declare function seenStore(backend: Backend, options?: StoreOptions): SeenStore;
/** For a backend's `load` and `keep`: what is kept from now on; `undefined`: nothing changes. */
export declare function keepPending(kept: string, told: PendingToKeep): string | undefined;
/** The backend of `memoryStore`. */
export declare function memoryBackend(): Backend;
/** The backend of `redisStore`. */
export declare function redisBackend(client: object, options?: { prefix?: string }): Backend;
/** In this process, gone with it: for development and tests. */
export declare function memoryStore(options?: StoreOptions): SeenStore;
/**
 * A list a user, `<prefix><user>` (one shard an element, newest first), and beside it two hashes: `<prefix><user>:meta`
 * for the revision, and for what is unseen and forgotten, which is changed together with the list by one
 * compare-and-set script and expires with it; and `<prefix><user>:pending` for what devices have pending. A field of
 * another name beside these stays as it is. Takes a client of ioredis or of redis (node-redis), single or cluster (the
 * keys share a slot: `<prefix>{<user>}` where a cluster is used). At most 1,024 pages wait for it at once; one beyond
 * that is degraded.
 */
export declare function redisStore(
  client: object,
  options?: StoreOptions & {
    /** @default "seen:" */
    prefix?: string;
  },
): SeenStore;
/**
 * What a device sent as `Seen-Held` and `Seen-Pending`: of a Fetch `Request`, `Headers`, the request of Node, Express,
 * Fastify or Hono (its headers, else its query), or an object of headers or query parameters. Never throws.
 */
export declare function seenOf(request: unknown): { held?: string; pending?: string };

/**
 * The page of `ranked` from `cursor` on: up to `size` fresh items, with `repeats: "last"` followed by seen ones if
 * there are too few, and the snapshot to ship.
 *
 * `ranked` is all candidates, the best first, the seen ones among them. `next` names the last candidate that was looked
 * at by its place and id; it is found again by id, else by place, so that nothing is skipped or shown twice however
 * quickly impressions arrive in between. With `repeats: "last"`, pages go on until every candidate was given once:
 * `next` has 4 more characters for each id that was given, and after 500 of them no seen ones follow.
 */
export declare function pageOf<T extends Identified>(
  chain: ShardChain,
  ranked: readonly T[],
  options: PageOptions,
): Page<T> & { snapshot: Snapshot };
export declare function pageOf<T>(
  chain: ShardChain,
  ranked: readonly T[],
  options: PageOptions & { id: IdOf<T> },
): Page<T> & { snapshot: Snapshot };
export interface PageOptions {
  /** 1 to 10,000. */
  size: number;
  /** `next` of the page before. What is no cursor is the first page. */
  cursor?: string | null | undefined;
  /** What the device sent as `Seen-Held`. */
  held?: string | null | undefined;
  /** What the device sent as `Seen-Pending`. */
  pending?: string | null | undefined;
  /** @default "drop" */
  repeats?: "drop" | "last";
  /** Unix seconds. @default the server's clock */
  now?: number;
}
export interface Page<T> {
  items: T[];
  /** Short, and safe in a URL; null: there is no more. */
  next: string | null;
  /** The state that the items were filtered against. Absent if the page is degraded. */
  snapshot?: Snapshot;
  /**
   * The store did not answer in time: of what was seen, only what the asking device has pending is left out. Send it to
   * the device as it is: the guard there stops what it knows of, and takes a page without a snapshot.
   */
  degraded?: true;
}
/** A report in the server's time, however long it waits in a stream. Plain JSON. */
export interface ReceivedReport {
  namespace: string;
  /** Unix milliseconds. */
  receivedAt: number;
  impressions: Impression[];
  unseen: Impression[];
  /** The history was deleted when it arrived: a service over Kafka says so, no device. */
  forgotten?: boolean;
  /** What the device has pending. */
  pending?: string;
}
/**
 * A report's body, parsed, as text or as bytes, checked, its times translated to the server's clock. `now`: Unix seconds. Throws a SeenGuardError with the code "bad-report"; and "engine"
 * where no Wasm is compiled, until `ShardChain.create()` or a store's first call has resolved.
 */
export declare function parseReport(body: unknown, options?: { now?: number }): ReceivedReport;

/**
 * The options of a chain for so many impressions, and what it costs: how many shards make a refresh smallest, and how
 * large they must be so that nothing of the window is forgotten, on days that are busier than the average, too. Bytes
 * are those of a user whose every shard is full; of a refresh, the mean for a device that holds the shards of the last
 * one. Throws `bad-option`, also for what fits into no chain; `engine` as
 * `parseReport`.
 */
export declare function plan(options: {
  /** Impressions of one user, on average. */
  perDay: number;
  /** For how long nothing is to be shown again. */
  windowDays: number;
  /** In all, when every shard is full. */
  falsePositiveRate: number;
  /** Impressions between two refreshes. @default 10 */
  perRefresh?: number;
}): Required<Pick<ChainOptions, "capacity" | "shards" | "falsePositiveRate" | "ttlSeconds">> & {
  bytesStored: number;
  bytesFirstPage: number;
  bytesRefresh: number;
};
