/** The contract of `seenguard/server`. */
import type {
  ErrorCode,
  IdOf,
  Identified,
  Impression,
  ItemId,
  SeenGuardError,
  ShardFormat,
  Snapshot,
} from "./seenguard.js";
export { SeenGuardError } from "./seenguard.js";
export type { ErrorCode, IdOf, Impression, ItemId, Report, ShardFormat, Snapshot } from "./seenguard.js";
export declare class ShardChain {
  private constructor();
  static create(options?: ChainOptions): Promise<ShardChain>;
  static from(stored: Snapshot | readonly string[], options?: ChainOptions): Promise<ShardChain>;
  readonly rejected: ReadonlyArray<{
    index: number;
    code: ErrorCode;
  }>;
  record(
    ids: ItemId | Iterable<ItemId>,
    options?: {
      now?: number;
    },
  ): number;
  take(report: ReceivedReport): number;
  unsee(
    ids: ItemId | Iterable<ItemId>,
    options?: {
      now?: number;
    },
  ): void;
  forget(options?: { now?: number }): void;
  has(
    id: ItemId,
    options?: {
      now?: number;
    },
  ): boolean;
  filter<T extends Identified>(
    items: readonly T[],
    options?: {
      pending?: string | null;
      now?: number;
    },
  ): T[];
  filter<T>(
    items: readonly T[],
    options: {
      id: IdOf<T>;
      pending?: string | null;
      now?: number;
    },
  ): T[];
  split<T extends Identified>(
    items: readonly T[],
    options?: {
      pending?: string | null;
      now?: number;
    },
  ): {
    fresh: T[];
    seen: T[];
  };
  split<T>(
    items: readonly T[],
    options: {
      id: IdOf<T>;
      pending?: string | null;
      now?: number;
    },
  ): {
    fresh: T[];
    seen: T[];
  };
  snapshot(options?: { now?: number; held?: string | null }): Snapshot & {
    shards: string[];
  };
  free(): void;
}
export interface ChainOptions {
  capacity?: number;
  shards?: number;
  falsePositiveRate?: number;
  seed?: bigint;
  ttlSeconds?: number;
  format?:
    | ShardFormat
    | {
        kind: "go-bloomfilter";
      };
}
export interface SeenStore {
  read(user: string): Promise<ShardChain>;
  update<R>(user: string, change: (chain: ShardChain) => R): Promise<R>;
  page<T extends Identified>(user: string, ranked: readonly T[], options: PageOptions): Promise<Page<T>>;
  page<T>(
    user: string,
    ranked: readonly T[],
    options: PageOptions & {
      id: IdOf<T>;
    },
  ): Promise<Page<T>>;
  receive(
    user: string,
    body: unknown,
    options?: {
      now?: number;
    },
  ): Promise<ReceivedReport>;
  take(user: string, report: ReceivedReport): Promise<number>;
  unsee(user: string, ids: ItemId | Iterable<ItemId>): Promise<void>;
  forget(user: string): Promise<void>;
}
export interface StoreOptions extends ChainOptions {
  namespaceOf?: (user: string) => string;
  onError?: (error: SeenGuardError) => void;
  pendingSeconds?: number;
}
export declare function memoryStore(options?: StoreOptions): SeenStore;
export declare function redisStore(
  client: object,
  options?: StoreOptions & {
    prefix?: string;
  },
): SeenStore;
export declare function seenOf(request: unknown): {
  held?: string;
  pending?: string;
};
export interface ReceivedReport {
  namespace: string;
  receivedAt: number;
  impressions: Impression[];
  unseen: Impression[];
  pending?: string;
}
export declare function pageOf<T extends Identified>(
  chain: ShardChain,
  ranked: readonly T[],
  options: PageOptions,
): Page<T>;
export declare function pageOf<T>(
  chain: ShardChain,
  ranked: readonly T[],
  options: PageOptions & {
    id: IdOf<T>;
  },
): Page<T>;
export interface PageOptions {
  size: number;
  cursor?: string | null;
  held?: string | null;
  pending?: string | null;
  seen?: "drop" | "last";
  now?: number;
}
export interface Page<T> {
  items: T[];
  next: string | null;
  seen: Snapshot;
}
export declare function parseReport(
  body: unknown,
  options?: {
    now?: number;
  },
): ReceivedReport;
export declare function plan(options: {
  perDay: number;
  windowDays: number;
  falsePositiveRate: number;
  perRefresh?: number;
}): Required<Pick<ChainOptions, "capacity" | "shards" | "falsePositiveRate" | "ttlSeconds">> & {
  bytesStored: number;
  bytesFirstPage: number;
  bytesRefresh: number;
};
