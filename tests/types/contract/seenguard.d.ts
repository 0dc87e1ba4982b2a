/** The contract of `seenguard`, `seenguard/formats` and `seenguard/slim`: what other projects compile against. */
type DomElement = typeof globalThis extends {
  Element: {
    prototype: infer T;
  };
}
  ? T
  : object;
type DomAbortSignal = typeof globalThis extends {
  AbortSignal: {
    prototype: infer T;
  };
}
  ? T
  : {
      readonly aborted: boolean;
    };
type DomRoot =
  | DomElement
  | (typeof globalThis extends { Document: { prototype: infer T } } ? T : object)
  | (typeof globalThis extends { ShadowRoot: { prototype: infer T } } ? T : object);
export type ItemId = string | number | bigint;
export type IdOf<T> = (item: T) => ItemId | readonly (ItemId | null | undefined)[] | null | undefined;
export type Identified =
  | ItemId
  | {
      readonly id: ItemId;
    };
export interface Snapshot {
  version?: number;
  shards: ReadonlyArray<string | readonly string[]>;
  format?: ShardFormat;
  now?: number;
  unseen?: readonly Impression[];
  forgetBefore?: number;
}
export type ShardFormat =
  | "seenguard"
  | "guava"
  | "bits-and-blooms"
  | "redisbloom"
  | {
      kind: "go-bloomfilter";
      hashes: number;
    }
  | {
      kind: "go-bloomfilter";
      capacity: number;
      falsePositiveRate: number;
    };
export interface GuardOptions {
  namespace: string;
  storage?: "indexeddb" | "local" | "none" | SeenStorage;
  windowDays?: number;
  remember?: number;
  onError?: (error: SeenGuardError) => void;
  onLag?: (lagMs: number, id: string) => void;
}
export interface SeenStorage {
  get(key: string): string | null | undefined | Promise<string | null | undefined>;
  set(key: string, value: string): void | Promise<void>;
  remove(key: string): void | Promise<void>;
  keys(): readonly string[] | Promise<readonly string[]>;
}
export declare class SeenGuard {
  private constructor();
  static open(options: GuardOptions): Promise<SeenGuard>;
  static clear(namespace: string, storage?: GuardOptions["storage"]): Promise<void>;
  apply(snapshot: Snapshot | null | undefined): ApplyReport;
  filter<T extends Identified>(items: readonly T[]): T[];
  filter<T>(items: readonly T[], id: IdOf<T>): T[];
  split<T extends Identified>(
    items: readonly T[],
  ): {
    fresh: T[];
    seen: T[];
  };
  split<T>(
    items: readonly T[],
    id: IdOf<T>,
  ): {
    fresh: T[];
    seen: T[];
  };
  has(id: ItemId): boolean;
  explain(id: ItemId): Explanation;
  record(ids: ItemId | Iterable<ItemId>, options?: RecordOptions): number;
  unsee(ids: ItemId | Iterable<ItemId>): number;
  pending(limit?: number): string[];
  held(): string;
  headers(): Record<string, string>;
  fetch(options: GuardedFetchOptions): typeof globalThis.fetch;
  feed(options?: FeedOptions): Feed;
  observe(root: DomRoot, options?: ObserveOptions): () => void;
  track(element: DomElement, id: ItemId | readonly ItemId[], options?: ObserveOptions): () => void;
  report(options: ReportOptions): () => void;
  deliver(timeoutMs?: number): Promise<{
    delivered: number;
    left: number;
  }>;
  stats(): GuardStats;
  readonly version: number | undefined;
  flush(): Promise<void>;
  close(): Promise<void>;
}
export interface FeedOptions {
  key?: string;
  seen?: "drop" | "last";
}
export interface Feed {
  filter<T extends Identified>(items: readonly T[]): T[];
  filter<T>(items: readonly T[], id: IdOf<T>): T[];
  admit<T extends Identified>(page: readonly T[]): T[];
  admit<T>(page: readonly T[], id: IdOf<T>): T[];
  fill<T, C = string>(
    fetchPage: FetchPage<T, C>,
    want: number,
    options: FillOptions & {
      id: IdOf<T>;
    },
  ): Promise<FillResult<T, C>>;
  fill<T extends Identified, C = string>(
    fetchPage: FetchPage<T, C>,
    want: number,
    options?: FillOptions,
  ): Promise<FillResult<T, C>>;
  reset(): void;
}
export type FetchPage<T, C = string> = (request: PageRequest<C>) => Promise<FeedPage<T, C> | null>;
export interface PageRequest<C = string> {
  page: number;
  cursor: C | undefined;
  held: string;
  headers: Record<string, string>;
  signal: DomAbortSignal;
}
export interface FeedPage<T, C = string> {
  items: readonly T[];
  seen?: Snapshot;
  next?: C | null;
}
export interface FillOptions {
  maxPages?: number;
  signal?: DomAbortSignal | null;
}
export interface FillResult<T, C = unknown> {
  items: T[];
  repeated: number;
  pages: number;
  stopped: number;
  end: "filled" | "exhausted" | "max-pages" | "aborted" | "error";
  error?: unknown;
  done: boolean;
  next: C | null | undefined;
}
export interface ApplyReport {
  applied: boolean;
  reason?: "older-version" | "missing-shard" | "invalid" | "closed" | "no-engine";
  error?: SeenGuardError;
  shards: number;
  reused: number;
  expired: number;
  covered: number;
}
export type Explanation =
  | {
      seen: false;
    }
  | {
      seen: true;
      by: "pending";
      at: Date;
    }
  | {
      seen: true;
      by: "memory";
      at: Date;
    }
  | {
      seen: true;
      by: "server";
      shard: number;
      epoch?: number;
    };
export interface RecordOptions {
  local?: boolean;
}
export interface GuardedFetchOptions {
  match: string | RegExp | ((request: Request) => boolean);
  fetch?: typeof globalThis.fetch;
}
export interface ObserveOptions extends RecordOptions {
  attribute?: string;
  idsOf?: (id: string, element: DomElement) => readonly ItemId[];
  ratio?: number;
  dwellMs?: number;
  onImpression?: (id: string, element: DomElement) => void;
}
export interface ReportOptions {
  url?: string;
  headers?: Record<string, string> | (() => Record<string, string> | Promise<Record<string, string>>);
  send?: (report: Report, reason: "interval" | "hide" | "deliver") => Promise<void>;
  intervalMs?: number;
}
export interface Report {
  namespace: string;
  now: number;
  impressions: Impression[];
  unseen?: Impression[];
  pending?: string;
}
export interface Impression {
  id: string;
  at: number;
}
export interface GuardStats {
  engine: "wasm" | "js" | "none";
  storage: "indexeddb" | "local" | "custom" | "none" | "unavailable" | "full";
  shards: number;
  serverFalsePositiveRate: number;
  pending: number;
  remembered: number;
  filtered: {
    passed: number;
    pending: number;
    memory: number;
    server: number;
    duplicate: number;
  };
  lag: {
    count: number;
    lastMs?: number;
    p50Ms?: number;
    p95Ms?: number;
    p99Ms?: number;
  };
  unseen: number;
  received: {
    characters: number;
    spared: number;
  };
  bytes: number;
}
export declare class SeenGuardError extends Error {
  readonly code: ErrorCode;
}
export type ErrorCode =
  | "bad-option"
  | "bad-snapshot"
  | "bad-base64"
  | "truncated"
  | "bad-magic"
  | "bad-checksum"
  | "bad-encoding"
  | "bad-parameters"
  | "bad-payload"
  | "too-large"
  | "storage"
  | "storage-full"
  | "wasm-unavailable"
  | "trap"
  | "already-open"
  | "delivery"
  | "misuse"
  | "bad-report"
  | "wrong-namespace"
  | "out-of-memory";
