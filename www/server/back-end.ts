/**
 * What the handler needs behind it: the stream that carries reports, and the histories that they end up in.
 *
 * There are two: `memory.ts`, in which all can be played, and `service/`, the parts that a large feed runs.
 */
import type { Page, PageOptions, ShardChain } from "seenguard/server";
import type { Item } from "./catalogue.ts";

/** How reports travel from the server's front door to the histories, and what goes wrong meanwhile. */
export interface StreamControl {
  readonly running: boolean;
  /** How long a report is under way, counted from its arrival at the server. */
  readonly lagSeconds: number;
  /** One of ten entries of reports is accepted from the page, and lost. */
  readonly losesEvents: boolean;
  /** Every other page comes from a replica that stopped following when this was set. */
  readonly replicaLags: boolean;
}

export const MOST_LAG_SECONDS = 300;

/** What a person's stream has done so far, in entries of reports, as far as the back end counts them. */
export interface StreamStatus extends Partial<StreamControl> {
  readonly running: boolean;
  /** Taken from the page, repeated deliveries included. */
  readonly accepted?: number;
  /** Not yet out of the stream. */
  readonly waiting?: number;
  /** Taken and then lost. */
  readonly lost?: number;
}

/** The user's actions on the server from the page. */
export type Condition = keyof StreamControl | "flush";

/** Every method may reject with a `Refused`. */
export interface BackEnd {
  readonly kind: "memory" | "redis" | "kafka" | "flink";
  /** Unsupported actions, each with the reason. */
  readonly cannot: Readonly<Partial<Record<Condition, string>>>;
  /** Where Flink's own page is, if a job takes the reports in. */
  readonly dashboard?: string | undefined;
  /** What is stored of this person; to be freed. */
  read(user: string): Promise<ShardChain>;
  /** The same as the lagging replica has it; as `read` while no replica lags. */
  readonly readReplica?: (user: string) => Promise<ShardChain>;
  /** As `SeenStore.page`: what a device reports of itself is stored for the pages of this person's others. */
  page(user: string, ranked: readonly Item[], options: PageOptions): Promise<Page<Item>>;
  /** Puts what a device posts into the stream. When this resolves, it is not lost any more, but for what is to be. */
  report(user: string, body: unknown): Promise<void>;
  stream(user: string): Promise<StreamStatus>;
  /** Of nothing that is in `cannot`. */
  control(user: string, change: Partial<StreamControl>): Promise<void>;
  /** Deletes this person's history: what was seen before now does not count any more, however late it arrives. */
  forget(user: string): Promise<void>;
  /** Loses what is stored of this person, as a store does that is flushed. */
  readonly flush?: (user: string) => Promise<void>;
}

/** A request is answered by this instead; `code` says why. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}
