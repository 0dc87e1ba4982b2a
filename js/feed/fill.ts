/**
 * `fill`: fetches pages into one buffer of fresh items, which each call in turn empties. A call that rejects leaves the
 * buffer unchanged.
 */
import { domException } from "../errors.js";
import { MAX_MS, nextTask, type Clock } from "../platform/host.js";
import type { MisuseListener } from "../input/list.js";
import { misuseOfPage } from "../input/misuse.js";
import {
  aFunction,
  aSignal,
  checkOptions,
  checkValues,
  isFunction,
  REQUIRED,
  upTo,
  type Rules,
} from "../input/options.js";
import { isSnapshot } from "../input/snapshot.js";
import type { FeedPage, FetchPage, FillOptions, FillResult, IdOf } from "../types/seenguard.js";
import { readItems, type Decider, type ItemList } from "./verdicts.js";

/** The part of a guard that a feed uses. */
export interface FeedHost {
  /** Returns a namespace that lets everything pass once the guard is closed. */
  readonly namespace: () => Decider & {
    readonly clock: Clock;
    apply(snapshot: unknown): unknown;
    headers(): Record<string, string>;
  };
  readonly report: MisuseListener;
  /** Cleanup functions that `close` runs. */
  readonly stops: Set<() => void>;
}

/** The default of `maxPages`, and the one that applies while there is no fresh item. */
const MAX_PAGES = 5;
const MAX_PAGES_WITHOUT_FRESH = 20;
/** The source has ended after this many pages in a row without a new id and with the same `next`. */
const MAX_STALE = 3;
/** A call ends after this many degraded pages in a row: the server's store is down. */
const MAX_DEGRADED = 2;

const argumentRules: Rules = {
  fetchPage: ["a function", isFunction, REQUIRED],
  want: upTo(Infinity, true, REQUIRED),
};
const rules: Rules = {
  maxPages: upTo(Infinity, false, undefined),
  timeoutMs: upTo(MAX_MS, false, 30_000),
  signal: aSignal,
  id: aFunction,
};

/** The arguments of `fill`, checked, with defaults. */
interface FillArguments extends FillOptions {
  readonly fetchPage: FetchPage<unknown, unknown>;
  readonly want: number;
  readonly timeoutMs: number;
  readonly id?: IdOf<unknown>;
}

export function checkFill(fetchPage: unknown, want: unknown, options: unknown = {}): FillArguments {
  const checked = checkValues({ fetchPage, want }, argumentRules);
  return { want: 1, ...checked, ...checkOptions("fill", options, rules) } as object as FillArguments;
}

type Result = FillResult<unknown>;

interface Call extends FillArguments {
  readonly controller: AbortController;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
  /** Rejects the call with the signal's reason. */
  readonly abort: () => void;
  /** Cancels the timeout of the page in progress. */
  cancelTimeout: () => void;
}

/** The pages of one list. */
export class Pages {
  private readonly host: FeedHost;
  /** Returns the items of a page that are fresh and new to the list. */
  private readonly admit: (page: ItemList<unknown>) => unknown[];
  private buffer: unknown[] = [];
  /** Calls in order; the first one fetches. */
  private readonly queue: Call[] = [];
  /** The index of the next page. */
  private page = 0;
  private cursor: unknown;
  private hasEnded = false;
  /** Ids of all pages, and how many of the latest pages in a row had neither a new id nor another cursor. */
  private readonly known = new Set<string>();
  private stale = 0;

  constructor(host: FeedHost, admit: Pages["admit"]) {
    [this.host, this.admit] = [host, admit];
  }

  fill(given: FillArguments): Promise<Result> {
    const { signal } = given;
    return new Promise((resolve, reject) => {
      // Older engines, and React Native, have signals without a reason.
      const abort = () => this.fail(call, signal?.reason ?? domException("AbortError", "the signal has aborted"));
      const rest = { controller: new AbortController(), cancelTimeout: () => {} };
      const call: Call = { ...given, ...rest, resolve, reject, abort };
      this.queue.push(call);
      this.host.stops.add(this.close);
      signal?.addEventListener("abort", abort);
      if (signal?.aborted) abort();
      else if (this.queue.length === 1) void this.run(call);
    });
  }

  /** Rejects all calls with an `AbortError`. */
  stop(why: string): void {
    // From the last one, so that none of them starts to fetch.
    for (const call of [...this.queue].reverse()) this.fail(call, domException("AbortError", why));
  }

  private readonly close = (): void => this.stop("the guard was closed");

  /** Resolves a call with the items fetched so far. */
  private end(call: Call, end: Result["end"]): void {
    const { hasEnded: done, cursor } = this;
    call.resolve({ items: this.buffer.splice(0), next: done ? null : cursor, done, end });
    this.remove(call);
  }

  /** Rejects a call, unless it has ended. The next one gets the items fetched so far. */
  private fail(call: Call, error: unknown): void {
    if (!this.queue.includes(call)) return;
    call.reject(error);
    this.remove(call);
    // Last, because it may call listeners of the app.
    call.controller.abort(error);
  }

  /** Removes a call that has ended, and starts the next. */
  private remove(call: Call): void {
    const { queue, host } = this;
    const isFirst = queue[0] === call;
    queue.splice(queue.indexOf(call), 1);
    call.cancelTimeout();
    call.signal?.removeEventListener("abort", call.abort);
    const [following] = queue;
    if (!following) host.stops.delete(this.close);
    else if (isFirst) void this.run(following);
  }

  private async run(call: Call): Promise<void> {
    const isOver = () => this.queue[0] !== call;
    try {
      // A call that is aborted within its first task fetches nothing.
      await Promise.resolve();
      for (let pages = 0, degraded = 0; !isOver(); pages++) {
        const end = this.endOf(call, pages, degraded);
        if (end) this.end(call, end);
        // Yield to other tasks: the source may respond synchronously.
        else if (pages > 0) await nextTask();
        if (isOver()) return;
        const page = await this.fetch(call);
        if (isOver()) return;
        degraded = this.add(page, call) ? degraded + 1 : 0;
      }
    } catch (error) {
      this.fail(call, error);
    }
  }

  /** The end of a call after this many pages; `undefined`: it continues. */
  private endOf({ want, maxPages }: Call, pages: number, degraded: number): Result["end"] | undefined {
    const { length } = this.buffer;
    if (length >= want) return "filled";
    if (this.hasEnded) return "exhausted";
    if (degraded >= MAX_DEGRADED) return "degraded";
    return pages >= (maxPages ?? (length === 0 ? MAX_PAGES_WITHOUT_FRESH : MAX_PAGES)) ? "max-pages" : undefined;
  }

  private async fetch(call: Call): Promise<unknown> {
    const { page, cursor, host } = this;
    const { fetchPage, timeoutMs, controller } = call;
    const namespace = host.namespace();
    const error = domException("TimeoutError", `fetchPage timed out after ${timeoutMs / 1000} s`);
    call.cancelTimeout = namespace.clock.after(timeoutMs, () => this.fail(call, error));
    try {
      return await fetchPage({ page, cursor, headers: namespace.headers(), signal: controller.signal });
    } finally {
      call.cancelTimeout();
    }
  }

  /** Adds a page to the buffer. Returns whether it is degraded. Throws if it cannot be read. */
  private add(page: unknown, { id: idOf }: Call): boolean {
    const { host, known } = this;
    this.hasEnded = page === null || page === undefined;
    if (this.hasEnded) return false;
    const misuse = misuseOfPage(page);
    host.report(misuse);
    if (misuse) throw misuse;
    const read = (Array.isArray(page) ? { items: page } : page) as FeedPage<unknown, unknown>;
    const { items, snapshot, next, degraded } = read;
    const hasMoved = next !== undefined && next !== this.cursor;
    const isEmpty = items.length === 0;
    this.page++;
    this.cursor = next ?? undefined;
    this.hasEnded = next === null || (next === undefined && isEmpty);
    if (isSnapshot(snapshot)) host.namespace().apply(snapshot);
    // `onLag` and `id` are called first, since they may reset the feed: then the page belongs to the old list.
    const list = readItems(items, idOf, host.report);
    this.buffer = this.buffer.concat(this.admit(list));
    const isNew = list.items.some(({ id }) => !known.has(id));
    for (const { id } of list.items) known.add(id);
    this.stale = hasMoved || isNew ? 0 : this.stale + 1;
    this.hasEnded ||= this.stale >= MAX_STALE;
    return degraded === true;
  }
}
