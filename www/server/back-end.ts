/**
 * The back end of the handler: the stream of reports, and the histories that they are ingested into.
 *
 * There are two: `memory.ts`, which supports all conditions, and `service/`, the parts that a large feed runs.
 */
import type { Page, PageOptions, ShardChain } from "seenguard/server";
import type { Item } from "./catalogue.ts";

/** The state of the stream, and its failures. */
export interface StreamControl {
  readonly running: boolean;
  /** How long a report is in the stream, counted from its arrival at the server. */
  readonly lagSeconds: number;
  /** One of ten entries of reports is accepted from the page, and lost. */
  readonly losesEvents: boolean;
  /** Every other page comes from a replica that stopped following when this was set. */
  readonly replicaLags: boolean;
}

export const MAX_LAG_SECONDS = 300;

/** The counts of a person's stream, in entries of reports, if the back end counts them. */
export interface StreamStatus extends Partial<StreamControl> {
  readonly running: boolean;
  /** Accepted from the page, repeated deliveries included. */
  readonly accepted?: number;
  /** Not yet out of the stream. */
  readonly waiting?: number;
  /** Accepted and then lost. */
  readonly lost?: number;
}

/** The user's actions on the server from the page. */
export type Condition = keyof StreamControl | "flush";

/** Every method may reject with a `Refused`. */
export interface BackEnd {
  readonly kind: "memory" | "redis" | "kafka" | "flink";
  /** Unsupported actions, each with the reason. */
  readonly cannot: Readonly<Partial<Record<Condition, string>>>;
  /** The address of Flink's own page, if a job ingests the reports. */
  readonly dashboard?: string | undefined;
  /** This person's stored chain; free it afterwards. */
  read(user: string): Promise<ShardChain>;
  /** The chain of the lagging replica; as `read` while no replica lags. */
  readonly readReplica?: (user: string) => Promise<ShardChain>;
  /** As `SeenStore.page`: a device's pending list is stored for the pages of this person's other devices. */
  page(user: string, ranked: readonly Item[], options: PageOptions): Promise<Page<Item>>;
  /** Puts the body of a device's request into the stream. After it has resolved, only `losesEvents` loses entries. */
  report(user: string, body: unknown): Promise<void>;
  stream(user: string): Promise<StreamStatus>;
  /** Changes the stream; never a condition in `cannot`. */
  control(user: string, change: Partial<StreamControl>): Promise<void>;
  /** Deletes this person's history: earlier impressions do not count any more, however late they arrive. */
  forget(user: string): Promise<void>;
  /** Loses this person's stored data, like a flushed store. */
  readonly flush?: (user: string) => Promise<void>;
}

/** The error response to a request; `code` is the reason. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}
