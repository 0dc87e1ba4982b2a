/**
 * What the server needs of its store: the stream that carries events, and the shards that they end up in.
 *
 * There are two: `memory/store.ts` for trying the demo, and `redis/store.ts`, laid out as a large feed runs it.
 */
import type { Page, PageOptions, ReceivedReport, ShardChain } from "seenguard/server";
import type { Item } from "./catalogue.ts";
import type { Unreadable } from "./chain.ts";
import type { SeenEvent } from "./events.ts";

/**
 * How one person's events travel from the server's front door to its shards, and what goes wrong for that person.
 */
export interface StreamControl {
  readonly running: boolean;
  /** How long an event is under way, counted from its arrival at the server. */
  readonly lagSeconds: number;
  /** One event in `ONE_LOST_IN` is taken from the page, answered for, and never heard of again. */
  readonly losesEvents: boolean;
  /** Every other page comes from a replica that stopped following when this was set. */
  readonly replicaLags: boolean;
}

export const DEFAULT_CONTROL: StreamControl = {
  running: true,
  lagSeconds: 60,
  losesEvents: false,
  replicaLags: false,
};
export const MOST_LAG_SECONDS = 300;
export const ONE_LOST_IN = 10;

/** What a person's stream has done so far. */
export interface StreamStatus extends StreamControl {
  /** Events taken from the page, repeated deliveries included. */
  readonly accepted: number;
  /** Events that have not left the stream yet. */
  readonly waiting: number;
  /** Events that were taken and then lost. */
  readonly lost: number;
}

/** Something that was put right, or set aside, without anybody having to wait for it. */
export interface Problem {
  /** Unix milliseconds. */
  readonly at: number;
  readonly what: string;
  readonly user?: string;
}

/** The whole store, for operators. */
export interface StoreStatus {
  readonly kind: "memory" | "redis";
  readonly available: boolean;
  /** The latest, newest first. */
  readonly problems: readonly Problem[];
}

/** Every method may reject with a `StoreUnavailable`. */
export interface Store {
  /** What is stored of this person, as the consumer has written it; to be freed. */
  seen(user: string): Promise<ShardChain>;
  /** The same as the lagging replica has it; as `seen` while no replica lags. */
  replicaSeen(user: string): Promise<ShardChain>;
  /** As `SeenStore.page`: what a device tells of itself is kept for the pages of this person's others. */
  page(user: string, ranked: readonly Item[], options: PageOptions): Promise<Page<Item>>;
  /** As `SeenStore.accept`: the same of a report. */
  accept(user: string, body: unknown): Promise<ReceivedReport>;
  /** Puts events into the stream. When this resolves, they are not lost any more, but for those that are to be. */
  enqueue(user: string, events: readonly SeenEvent[]): Promise<void>;
  control(user: string, change: Partial<StreamControl>): Promise<StreamControl>;
  stream(user: string): Promise<StreamStatus>;
  /** Deletes this person's history: what was seen before now does not count any more, however late it arrives. */
  forget(user: string): Promise<void>;
  /** Loses what is stored of this person, as a store does that is flushed. */
  flush(user: string): Promise<void>;
  status(): Promise<StoreStatus>;
  close(): Promise<void>;
}

/** The store cannot be reached now; trying again later may help. */
export class StoreUnavailable extends Error {}

/** One person's stream already holds as many events as it may. */
export class StreamFull extends Error {}

/** As many events of one person may wait in the stream; a page that is told so keeps its own and tries again. */
export const MOST_WAITING = 100_000;

/** Splits what arrives when `accepted` events have come before: every tenth of a person's is lost, so that 10% are. */
export function loseSome(
  events: readonly SeenEvent[],
  accepted: number,
  { losesEvents }: StreamControl,
): { readonly kept: readonly SeenEvent[]; readonly lost: number } {
  if (!losesEvents) return { kept: events, lost: 0 };
  const kept = events.filter((_, index) => (accepted + index + 1) % ONE_LOST_IN !== 0);
  return { kept, lost: events.length - kept.length };
}

/** Tells an unreadable element in words that an operator can act on. */
export function describeUnreadable(unreadable: Unreadable): string {
  const element = `element ${String(unreadable.index)} of the stored shards`;
  return `${element} could not be read (${unreadable.reason}) and was replaced`;
}

/** Keeps the latest problems, and writes each to the log. */
export class ProblemLog {
  private readonly latest: Problem[] = [];

  constructor(private readonly write: (problem: Problem) => void) {}

  add(what: string, user?: string): Problem {
    const problem: Problem = user === undefined ? { at: Date.now(), what } : { at: Date.now(), what, user };
    this.latest.unshift(problem);
    this.latest.length = Math.min(this.latest.length, 50);
    this.write(problem);
    return problem;
  }

  list(): readonly Problem[] {
    return [...this.latest];
  }
}
