/** `seenguard/server`: for Node, Deno, Bun, edge workers and browsers. All formats. Needs no DOM types. */
import type { Identified, IdOf, Impression, ItemId, SeenGuardError, ShardFormat, Snapshot } from "./seenguard.js";
export { SeenGuardError } from "./seenguard.js";
export type { ErrorCode, Identified, IdOf, Impression, ItemId, Report, ShardFormat, Snapshot } from "./seenguard.js";

/** One user's shards, unseen ids, and the time at which the history was deleted. */
export declare class ShardChain {
  private constructor();
  static create(options?: ChainOptions): Promise<ShardChain>;
  /**
   * Continues a stored chain: a list of shards, or a snapshot with its `unseen` and `forgetBefore`. An element that
   * cannot be read (a reference is one) is ignored and listed in `rejected`. A newest shard with other parameters than
   * the options' is used until it is full, if it lives as long as `ttlSeconds` demands.
   */
  static from(stored: Snapshot | readonly string[], options?: ChainOptions): Promise<ShardChain>;
  readonly rejected: readonly { index: number; reason: string }[];
  /**
   * Inserts each id that the newest shard does not contain, and removes it from `unseen`. Returns how many no live
   * shard contained. Ignores ids that are not usable.
   */
  record(ids: ItemId | Iterable<ItemId>, options?: { now?: number }): number;
  /**
   * Applies a device's report; the result does not depend on how late. An impression from before `forgetBefore`, or
   * from before the id became unseen, changes nothing. Returns how many ids no live shard contained. Throws
   * `bad-report` for anything that `parseReport` has not returned.
   */
  ingest(report: ReceivedReport): number;
  /**
   * Makes ids unseen, as `SeenGuard.unsee`: fresh here and in snapshots until they are recorded again. At most the
   * newest 1,000 ids or 64 KB are unseen; ids that no live shard contains are dropped. Throws `bad-report` for an id of
   * more than 256 bytes.
   */
  unsee(ids: ItemId | Iterable<ItemId>, options?: { now?: number }): void;
  /** Deletes the history up to now, rounded up to a second: leaves no shards, and sets `forgetBefore`. */
  forget(options?: { now?: number }): void;
  has(id: ItemId, options?: { now?: number }): boolean;
  /**
   * Returns the items that are unseen or in no live shard, each id once; an item without a usable id passes.
   * `pending`: the value of the device's `Seen-Pending`, whose ids are left out of this result and not inserted into
   * the chain; an invalid one is ignored.
   */
  filter<T extends Identified>(
    items: readonly T[],
    options?: { pending?: string | null | undefined; now?: number },
  ): T[];
  filter<T>(items: readonly T[], options: { id: IdOf<T>; pending?: string | null | undefined; now?: number }): T[];
  /**
   * The snapshot to send and, without `held`, to store. `held`: the value of the device's `Seen-Held`; shards named
   * there become references; an invalid one is ignored. A shard that has not changed since it was stored is
   * the same string.
   */
  snapshot(options?: { now?: number; held?: string | null | undefined }): Snapshot & { shards: string[] };
  free(): void;
}
/**
 * Each `now` is in Unix seconds of the server's clock, by default the current time; over 2^32 − 1 (milliseconds) is
 * refused with `bad-option`.
 */
export interface ChainOptions {
  /** Items in each shard. @default 1000 */
  capacity?: number;
  /** @default 5 */
  shards?: number;
  /** Of each full shard. @default 0.001 */
  falsePositiveRate?: number;
  /** The seed of the hash functions, the same in a whole deployment: an integer below 2^64. @default 0 */
  seed?: number | bigint;
  /**
   * The least time for which an item is remembered, unless (shards − 1) · capacity others were inserted since. The most
   * is this × (1 + 1 / max(1, shards − 1)). 0: the capacity alone decides. @default 0
   */
  ttlSeconds?: number;
  /**
   * The format of shards in the store and in snapshots. A go-bloomfilter format without sizes of its own uses the
   * chain's: `capacity` and `falsePositiveRate`.
   * @default "seenguard"
   */
  format?: ShardFormat | { kind: "go-bloomfilter" };
}

/**
 * Users' chains in a store, and their devices' pending impressions. A user is a well-formed string. Each call settles,
 * even if the store does not respond: a page within `patienceMs`, `degraded` if need be; other calls within
 * `deadlineMs`, in which transient failures (a failover, a load) are retried. Then it rejects with `storage`, and
 * `cause` is the error of the store's client; whether the change was stored is unknown.
 */
export interface SeenStore {
  /** Loads a chain for reading. Free it afterwards. */
  read(user: string): Promise<ShardChain>;
  /**
   * Changes a chain and stores it. `change` gets the current time; it runs again on the new chain if another request
   * has stored one meanwhile, so that no impression is lost. Rejects with `storage` also if that happens until the
   * deadline.
   */
  update<R>(user: string, change: (chain: ShardChain, now: number) => R): Promise<R>;
  /**
   * Stores the device's pending impressions, and makes a page as `pageOf`. Pending impressions of the user's other
   * devices are left out, too, unless they are unseen. If the store fails, the page is `degraded`.
   */
  page<T extends Identified>(user: string, ranked: readonly T[], options: Omit<PageOptions, "now">): Promise<Page<T>>;
  page<T>(user: string, ranked: readonly T[], options: Omit<PageOptions, "now"> & { id: IdOf<T> }): Promise<Page<T>>;
  /**
   * Checks a report as `parseReport`, stores the device's pending impressions, and returns the report in the time of the
   * store's clock: for a stream, or for `ingest`. Of a report without a usable pending list, the ids of its impressions
   * are stored in one list of the user. Before anything is stored it rejects with `bad-report`, `wrong-namespace`, or
   * `too-large` for more than 1,000 entries or 256 KB, after which the device sends half of them. Entries with an id of
   * more than 4,096 bytes, or 256 if unseen, are left out. Rejects with `storage` if nothing can be stored: do not
   * acknowledge the report then, and the device sends it again.
   */
  accept(user: string, body: unknown): Promise<ReceivedReport>;
  /** Applies a report to the chain. Returns how many ids no live shard contained. */
  ingest(user: string, report: ReceivedReport): Promise<number>;
  /** As `ShardChain.unsee`. */
  unsee(user: string, ids: ItemId | Iterable<ItemId>): Promise<void>;
  /** As `ShardChain.forget`; also removes the devices' pending impressions. */
  forget(user: string): Promise<void>;
}
/**
 * By default a chain of 20 shards of 281 items each, with a false positive rate of 0.00025, and 30 days (no expiry in
 * other formats than the native one). Each given option replaces a default.
 */
export interface StoreOptions extends ChainOptions {
  /**
   * The namespace of a user's devices, such as `"home:" + user`: reports of another one are refused, and pending
   * impressions of another one are ignored.
   */
  namespaceOf?: (user: string) => string;
  /** Returns Unix seconds. @default the backend's clock, which all servers share; without one, this process's clock */
  clock?: () => number;
  /**
   * Receives errors: stored data that cannot be read and is ignored; degraded pages, once until a read succeeds; and,
   * once, that pending impressions cannot be stored (a read-only replica, a full Redis). They name no user.
   * @default console.warn once for each code
   */
  onError?: (error: SeenGuardError) => void;
  /** How long a device's pending impressions are stored after their last change. @default 172800 */
  pendingSeconds?: number;
  /** How long a page waits for the store before it is degraded. @default 300 */
  patienceMs?: number;
  /** How long any other call may take. @default 5000 */
  deadlineMs?: number;
}
/** A user's chain in the store. Opaque: the same JSON as in the crate's stores. */
export interface StoredChain {
  readonly shards: readonly string[];
  readonly fields: readonly (readonly [name: string, value: string])[];
}
/** A user's data in a backend, read atomically. */
export interface Loaded {
  /** The latest `Replacement.after`. Absent: nothing is stored. */
  stored?: StoredChain;
  /** Differs after each change of the stored chain; 0 while there is none. */
  revision: number;
  /** The devices' pending impressions, as `addPending` returned them; initially an empty string. */
  pending: string;
  /** The time of the storage's clock, Unix seconds, which all servers share, if it has one. */
  now?: number;
  /** Why the requesting device's pending impressions could not be stored, if so: the page is made without them. */
  refusal?: unknown;
}
/** A user's new chain, for a backend. */
export interface Replacement {
  /** The revision of the chain that it replaces. */
  readonly revision: number;
  /** The chain that it replaces. */
  readonly before: StoredChain;
  readonly after: StoredChain;
  /** Expiry in seconds from now; 0: none. */
  readonly lifeSeconds: number;
}
/** A device's pending impressions to store. Plain JSON; `text` is opaque. */
export interface PendingUpdate {
  readonly text: string;
  /** Unix seconds. */
  readonly at: number;
  /** How long they count after `at`, in seconds. */
  readonly lifeSeconds: number;
}
/**
 * The storage of users' chains. A call may take any time: `seenStore` has the deadlines, and repeats a change until no
 * other one intervenes. A rejection is retried, unless its property `isTransient` is false.
 */
export interface Backend {
  /** Stores a device's pending impressions, then loads the user's data. */
  load(user: string, reported?: PendingUpdate): Promise<Loaded>;
  /**
   * Stores a device's pending impressions. Resolves to the time of the storage's clock, Unix seconds, if it has one.
   */
  storePending(user: string, reported: PendingUpdate): Promise<number | undefined>;
  /**
   * Stores a chain if the revision has not changed since it was loaded. Otherwise it changes nothing, and resolves to
   * false.
   */
  replace(user: string, replacement: Replacement): Promise<boolean>;
  /** The same, and atomically removes the pending impressions of the user's devices. */
  forget(user: string, replacement: Replacement): Promise<boolean>;
}
/** A store over a backend of the package or of the app. */
export declare function seenStore(backend: Backend, options?: StoreOptions): SeenStore;
/**
 * For a backend's `load` and `storePending`: adds a device's pending impressions. Returns the new value of
 * `Loaded.pending`; `undefined` if nothing changes.
 */
export declare function addPending(pending: string, reported: PendingUpdate): string | undefined;
/** The backend of `memoryStore`: of more than 100,000 users the least recently used ones are removed. */
export declare function memoryBackend(): Backend;
/** A store in the memory of this process: for development and tests. */
export declare function memoryStore(options?: StoreOptions): SeenStore;
/**
 * Per user a list, `<prefix><user>` (one shard an element, newest first), and two hashes: `<prefix><user>:meta` for the
 * revision, unseen ids and the deletion of the history, which changes atomically with the list by one compare-and-set
 * script and expires with it; and `<prefix><user>:pending` for the devices' pending impressions. Other fields of the
 * hashes stay unchanged. Takes a client of ioredis or of redis (node-redis), single or cluster (the keys share a slot:
 * `<prefix>{<user>}` where a cluster is used). At most 1,024 pages wait for it at once; further ones are degraded.
 */
export declare function redisStore(
  client: object,
  options?: StoreOptions & {
    /** @default "seen:" */
    prefix?: string;
  },
): SeenStore;
/**
 * Reads `Seen-Held` and `Seen-Pending` of a request: a Fetch `Request`, `Headers`, the request of Node, Express,
 * Fastify or Hono (its headers, else its query), or an object of headers or query parameters. Never throws.
 */
export declare function seenOf(request: unknown): { held?: string; pending?: string };

/**
 * The page of `ranked` from `cursor` on: up to `size` fresh items, with `repeats: "last"` followed by seen ones if
 * there are too few, and the snapshot to send.
 *
 * `ranked` has all candidates, the best first, including the seen ones. `next` names the position and id of the last
 * candidate examined, which is found again by its id, else by its position: no item is skipped or shown twice, even if
 * impressions arrive between two pages. With `repeats: "last"`, pages continue until every candidate was returned once:
 * each returned id adds 4 characters to `next`, and after 500 of them no seen items follow.
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
  /** `next` of the previous page. An invalid cursor selects the first page. */
  cursor?: string | null | undefined;
  /** The value of the device's `Seen-Held`. */
  held?: string | null | undefined;
  /** The value of the device's `Seen-Pending`. */
  pending?: string | null | undefined;
  /** @default "drop" */
  repeats?: "drop" | "last";
  /** Unix seconds. @default the server's clock */
  now?: number;
}
export interface Page<T> {
  items: T[];
  /** The next cursor, short and safe in a URL; null: this is the last page. */
  next: string | null;
  /** The state against which the items were filtered. Absent if the page is degraded. */
  snapshot?: Snapshot;
  /**
   * The store did not respond in time: the page leaves out only the requesting device's pending impressions. Send it
   * unchanged: the device's guard stops the items that it knows, and accepts a page without a snapshot.
   */
  degraded?: true;
}
/** A report with its times translated to the server's clock, so that it may wait in a stream. Plain JSON. */
export interface ReceivedReport {
  namespace: string;
  /** Unix milliseconds. */
  receivedAt: number;
  impressions: Impression[];
  unseen: Impression[];
  /** The history was deleted at `receivedAt`. Only a service over Kafka writes this field, no device. */
  forgotten?: boolean;
  /** The device's pending impressions. */
  pending?: string;
}
/**
 * Checks a report's body (parsed JSON, a string or bytes), and translates its times to the server's clock. `now`: Unix
 * seconds. Throws a SeenGuardError with the code "bad-report"; and "engine" where Wasm cannot be compiled, until
 * `ShardChain.create()` or a store's first call has resolved.
 */
export declare function parseReport(body: unknown, options?: { now?: number }): ReceivedReport;

/**
 * Plans a chain for a rate of impressions: the number of shards that makes a refresh smallest, and the size with which
 * nothing of the window is forgotten, also on days that are busier than the average. The byte counts are of a user
 * whose shards are all full; for a refresh, the mean for a device that holds the shards of the previous one. Throws
 * `bad-option`, also if no chain can hold that many, and `engine` as `parseReport`.
 */
export declare function plan(options: {
  /** The average number of impressions of one user. */
  perDay: number;
  /** How long an item must not be shown again. */
  windowDays: number;
  /** Of the whole chain when every shard is full. */
  falsePositiveRate: number;
  /** Impressions between two refreshes. @default 10 */
  perRefresh?: number;
}): Required<Pick<ChainOptions, "capacity" | "shards" | "falsePositiveRate" | "ttlSeconds">> & {
  bytesStored: number;
  bytesFirstPage: number;
  bytesRefresh: number;
};
