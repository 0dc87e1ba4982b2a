/** Filling a page: fetching until enough fresh items are there. Calls that overlap share one run. */
import { aFunction, checkEach, checkOptions, isFunction, REQUIRED, upTo, type Rules } from "../options.js";
import { attempt } from "../host.js";
import type { FeedPage, FillOptions, FillResult, IdOf } from "../types/seenguard.js";

const argumentRules: Rules = {
  fetchPage: ["a function", isFunction, REQUIRED],
  want: upTo(Infinity, " of fresh items", true, REQUIRED),
};
const rules: Rules = {
  maxPages: upTo(Infinity, "", false, 5),
  signal: ["an AbortSignal or null", (value) => value === null || isSignal(value)],
  id: aFunction,
};

/** Options of `fill`, checked and with their defaults. */
interface CheckedFillOptions<T> extends FillOptions {
  readonly maxPages: number;
  readonly id?: IdOf<T>;
}

/** Checks the arguments of `fill`. */
export function checkFill<T>(fetchPage: unknown, want: unknown, options: unknown): CheckedFillOptions<T> {
  checkEach({ fetchPage, want }, argumentRules);
  return checkOptions("fill", options, rules) as object as CheckedFillOptions<T>;
}

/** Whether it can be listened to: what wraps a signal may look like one. */
function isSignal(value: unknown): boolean {
  const signal = value as AbortSignal;
  const listener = () => {};
  const isAborted = attempt(() => {
    signal.addEventListener("abort", listener);
    signal.removeEventListener("abort", listener);
    return signal.aborted;
  });
  return typeof isAborted === "boolean";
}

/** The source of a run's pages. */
export interface Source<T> {
  /** Fetches the next page. Code without types may well answer with `undefined`. */
  fetch(signal: AbortSignal): Promise<FeedPage<T, unknown> | null | undefined>;
  /** Takes a page: its fresh items, how many it has in all, and whether it is the last. Throws if it cannot be read. */
  take(
    page: FeedPage<T, unknown>,
    signal: AbortSignal,
  ): { readonly fresh: readonly T[]; readonly all: number; readonly isLast: boolean };
  /** Takes so many items that were seen, and how many of them this run's pages brought. */
  takeSeen(most: number): { readonly items: readonly T[]; readonly recent: number };
  /** Takes what runs that failed have left. */
  takeLeft(): readonly T[];
  /** Leaves items to the next run. */
  leave(items: readonly T[]): void;
  /** What is still to come, once a run has ended so. */
  outlook(end: FillResult<T>["end"]): Pick<FillResult<T>, "done" | "next">;
}

/** One run of fetching, for all the callers that came while it went on. */
export class FillRun<T> {
  private readonly controller = new AbortController();
  private readonly source: Source<T>;
  private readonly items: T[] = [];
  private readonly counts = { repeated: 0, pages: 0, stopped: 0 };
  private readonly ended: Promise<FillResult<T>>;
  private callers = 0;
  private hasEnded = false;

  constructor(source: Source<T>, want: number, maxPages: number) {
    this.source = source;
    this.ended = this.run(want, maxPages);
  }

  /** Whether nothing more comes of it. */
  get isOver(): boolean {
    return this.hasEnded || this.isAborted();
  }

  /** A reset or the last caller's leaving may come in any pause. */
  private isAborted(): boolean {
    return this.controller.signal.aborted;
  }

  /** Ends the run: all callers get what has come so far. */
  abort(): void {
    this.controller.abort();
  }

  /**
   * What the run brings, or, when this caller's signal aborts, what it has brought so far. The last caller's leaving
   * ends the run.
   */
  join(signal: AbortSignal | null | undefined): Promise<FillResult<T>> {
    this.callers++;
    return new Promise((resolve) => {
      const leave = () => {
        if (--this.callers === 0) this.abort();
        resolve(this.resultOf("aborted"));
      };
      if (signal?.aborted) leave();
      signal?.addEventListener("abort", leave);
      void this.ended.then((result) => {
        signal?.removeEventListener("abort", leave);
        resolve(result);
      });
    });
  }

  private resultOf(end: FillResult<T>["end"]): FillResult<T> {
    return { items: [...this.items], ...this.counts, end, ...this.source.outlook(end) };
  }

  private async run(want: number, maxPages: number): Promise<FillResult<T>> {
    try {
      const end = await this.fetch(want, maxPages);
      if (end !== "filled" && !this.isAborted()) this.fillUp(want);
      return this.resultOf(this.isAborted() ? "aborted" : end);
    } catch (error) {
      if (this.isAborted()) return this.resultOf("aborted");
      // Who throws the result away with its error loses nothing.
      this.source.leave(this.items.splice(0));
      return { ...this.resultOf("error"), error };
    } finally {
      this.hasEnded = true;
    }
  }

  /** Fetches until the run ends or is ended. Returns why it ends. */
  private async fetch(want: number, maxPages: number): Promise<FillResult<T>["end"]> {
    const { signal } = this.controller;
    const { source, items, counts } = this;
    const aborted = new Promise<null>((resolve) => {
      signal.addEventListener("abort", () => resolve(null));
    });
    // Callers that overlap join before anything happens.
    await Promise.resolve();
    if (!this.isAborted()) items.push(...source.takeLeft());
    while (items.length < want && !this.isAborted()) {
      if (counts.pages >= maxPages) return "max-pages";
      const page = await Promise.race([source.fetch(signal), aborted]);
      if (!page || this.isAborted()) return "exhausted";
      const { fresh, all, isLast } = source.take(page, signal);
      items.push(...fresh);
      counts.stopped += all - fresh.length;
      counts.pages++;
      if (isLast && items.length < want) return "exhausted";
    }
    return "filled";
  }

  /** No more fresh items are to come: seen ones take their place. */
  private fillUp(want: number): void {
    const { items, recent } = this.source.takeSeen(want - this.items.length);
    this.items.push(...items);
    this.counts.repeated = items.length;
    this.counts.stopped -= recent;
  }
}
