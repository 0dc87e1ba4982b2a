/**
 * Filling a page: pages are fetched into one buffer of fresh items, and calls, one after the other, take from it. A call
 * that is aborted or fails takes nothing.
 */
import { attempt, MAX_MS, nextTask, type Clock } from "../platform/host.js";
import type { MisuseListener } from "../input/list.js";
import { misuseOfPage } from "../input/misuse.js";
import { aFunction, checkEach, checkOptions, isFunction, REQUIRED, upTo, type Rules } from "../input/options.js";
import type { FeedPage, FetchPage, FillOptions, FillResult, IdOf } from "../types/seenguard.js";
import { readItems, type Decider, type ItemList } from "./verdicts.js";

/** What a feed needs of its guard. */
export interface FeedHost {
  /** Another one once the guard is closed. */
  readonly namespace: () => Decider & {
    readonly clock: Clock;
    apply(snapshot: unknown): unknown;
    headers(): Record<string, string>;
  };
  readonly tell: MisuseListener;
  /** What `close` stops. */
  readonly stops: Set<() => void>;
}

/** Most pages of a call, and most as long as it has no fresh item. */
const MAX_PAGES = 5;
const MAX_PAGES_IN_VAIN = 20;
/** So many pages in a row without a new id and without another `next` are the source's end. */
const MAX_STALE = 3;
/** So many in a row that the server made without its store end a call. */
const MAX_DEGRADED = 2;

const argumentRules: Rules = {
  fetchPage: ["a function", isFunction, REQUIRED],
  want: upTo(Infinity, true, REQUIRED),
};
const rules: Rules = {
  maxPages: upTo(Infinity, false, undefined),
  timeoutMs: upTo(MAX_MS, false, 30_000),
  signal: ["an AbortSignal or null", (value) => value === null || isSignal(value as AbortSignal)],
  id: aFunction,
};

/** The arguments of `fill`, checked and with their defaults. */
interface FillArguments extends FillOptions {
  readonly fetchPage: FetchPage<unknown, unknown>;
  readonly want: number;
  readonly timeoutMs: number;
  readonly id?: IdOf<unknown>;
}

export function checkFill(fetchPage: unknown, want: unknown, options: unknown = {}): FillArguments {
  const checked = checkEach({ fetchPage, want }, argumentRules);
  return { ...checked, ...checkOptions("fill", options, rules) } as object as FillArguments;
}

/** Whether it can be listened to: what wraps a signal may look like one. */
function isSignal(signal: AbortSignal): boolean {
  const listen = () => {
    signal.addEventListener("abort", listen);
    signal.removeEventListener("abort", listen);
    return typeof signal.aborted;
  };
  return attempt(listen) === "boolean";
}

type Result = FillResult<unknown>;

interface Call extends FillArguments {
  readonly controller: AbortController;
  readonly resolve: (result: Result) => void;
  /** Of the page that is being fetched. */
  cancelTimeout: () => void;
}

/** The pages of one list. */
export class Pages {
  private readonly host: FeedHost;
  /** The items of a page that are fresh and new to the list. */
  private readonly admit: (page: ItemList<unknown>) => unknown[];
  private buffer: unknown[] = [];
  /** The first call is the one that fetches. */
  private readonly queue: Call[] = [];
  /** What is fetched next. */
  private page = 0;
  private cursor: unknown;
  private hasEnded = false;
  /** Ids that pages have brought, and how many of the latest pages have brought nothing new. */
  private readonly known = new Set<string>();
  private stale = 0;

  constructor(host: FeedHost, admit: Pages["admit"]) {
    [this.host, this.admit] = [host, admit];
  }

  fill(given: FillArguments): Promise<Result> {
    const { signal } = given;
    return new Promise((settle) => {
      const abort = () => this.end(call, "aborted");
      const resolve = (result: Result) => {
        signal?.removeEventListener("abort", abort);
        settle(result);
      };
      const call: Call = { ...given, controller: new AbortController(), resolve, cancelTimeout: () => {} };
      this.queue.push(call);
      this.host.stops.add(this.stop);
      signal?.addEventListener("abort", abort);
      if (signal?.aborted) abort();
      else if (this.queue.length === 1) void this.run(call);
    });
  }

  /** Ends all calls. */
  readonly stop = (): void => {
    // The latest first, so that none begins.
    for (const call of [...this.queue].reverse()) this.end(call, "aborted");
  };

  /** Ends a call that has not ended, and begins the next. */
  private end(call: Call, end: Result["end"], error?: unknown): void {
    const { queue, host } = this;
    const place = queue.indexOf(call);
    if (place < 0) return;
    queue.splice(place, 1);
    call.cancelTimeout();
    const hasFailed = end === "aborted" || end === "error";
    const items = hasFailed ? [] : this.buffer.splice(0);
    const next = this.hasEnded ? null : this.cursor;
    call.resolve({ items, end, next, done: this.hasEnded && !hasFailed, ...(end === "error" && { error }) });
    const [following] = queue;
    if (!following) host.stops.delete(this.stop);
    else if (place === 0) void this.run(following);
    // The last of all: the app may be listening.
    if (hasFailed) call.controller.abort(error);
  }

  private async run(call: Call): Promise<void> {
    const isOver = () => this.queue[0] !== call;
    try {
      // A call that is aborted in the task in which it was made fetches nothing.
      await Promise.resolve();
      for (let pages = 0, degraded = 0; !isOver(); pages++) {
        const end = this.endOf(call, pages, degraded);
        if (end) this.end(call, end);
        // A source that answers at once holds up nothing else.
        else if (pages > 0) await nextTask();
        if (isOver()) return;
        const page = await this.fetch(call);
        if (isOver()) return;
        degraded = this.take(page, call) ? degraded + 1 : 0;
      }
    } catch (error) {
      this.end(call, "error", error);
    }
  }

  /** How a call ends that has fetched so many pages; `undefined`: it goes on. */
  private endOf({ want, maxPages }: Call, pages: number, degraded: number): Result["end"] | undefined {
    const { length } = this.buffer;
    if (length >= want) return "filled";
    if (this.hasEnded) return "exhausted";
    const most = maxPages ?? (length === 0 ? MAX_PAGES_IN_VAIN : MAX_PAGES);
    return pages >= most || degraded >= MAX_DEGRADED ? "max-pages" : undefined;
  }

  private async fetch(call: Call): Promise<unknown> {
    const { page, cursor, host } = this;
    const { fetchPage, timeoutMs, controller } = call;
    const namespace = host.namespace();
    const error = new Error(`fetchPage has not answered within ${timeoutMs / 1000} s`);
    call.cancelTimeout = namespace.clock.after(timeoutMs, () => this.end(call, "error", error));
    try {
      return await fetchPage({ page, cursor, headers: namespace.headers(), signal: controller.signal });
    } finally {
      call.cancelTimeout();
    }
  }

  /** Takes a page into the buffer. Returns whether it is a degraded one. Throws if it cannot be read. */
  private take(page: unknown, { id: idOf }: Call): boolean {
    const { host, known } = this;
    this.hasEnded = page === null || page === undefined;
    if (this.hasEnded) return false;
    const misuse = misuseOfPage(page);
    host.tell(misuse);
    if (misuse) throw misuse;
    const read = (Array.isArray(page) ? { items: page } : page) as FeedPage<unknown, unknown>;
    const { items, snapshot, next, degraded } = read;
    const hasMoved = next !== undefined && next !== this.cursor;
    const isEmpty = items.length === 0;
    this.page++;
    this.cursor = next ?? undefined;
    this.hasEnded = next === null || (next === undefined && isEmpty);
    if (snapshot !== undefined) host.namespace().apply(snapshot);
    // What `onLag` and the function `id` do comes first: after a reset the page is of the list before.
    const list = readItems(items, idOf, host.tell);
    this.buffer = this.buffer.concat(this.admit(list));
    const isNew = list.items.some(({ id }) => !known.has(id));
    for (const { id } of list.items) known.add(id);
    this.stale = hasMoved || isNew ? 0 : this.stale + 1;
    this.hasEnded ||= this.stale >= MAX_STALE;
    return degraded === true;
  }
}
