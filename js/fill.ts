/** Filling a page: fetching until enough fresh items are there. Calls that overlap share one run. */
import { listOf } from "./ids.js";
import { aFunction, checkEach, type Rules } from "./options.js";
import type { FeedPage, FillOptions, FillResult, IdOf, Snapshot } from "./seenguard.js";

/** What filling asks of its guard and of its feed. */
interface Guard {
  apply(snapshot: Snapshot): unknown;
}
interface Feed {
  admit<T>(page: readonly T[], id?: IdOf<T>): T[];
}

export type FetchPage<T> = (page: number, signal: AbortSignal) => Promise<FeedPage<T> | null>;

const DEFAULT_MAX_PAGES = 5;

const rules: Rules = {
  fetchPage: aFunction,
  want: ["the number of fresh items that are wanted", (want) => typeof want === "number" && want >= 0],
  maxPages: ["a number, 1 or more", (pages) => typeof pages === "number" && pages >= 1],
};

/** Checks what `fill` was called with. */
export function checkFill(fetchPage: unknown, want: unknown, maxPages: unknown = DEFAULT_MAX_PAGES): void {
  checkEach({ fetchPage, want, maxPages }, rules);
}

/** One run of fetching, for all the callers that came while it went on. */
export class FillRun<T> {
  readonly #controller = new AbortController();
  readonly #guard: Guard;
  readonly #feed: Feed;
  readonly #result: FillResult<T> = { items: [], pages: 0, stopped: 0, end: "filled" };
  readonly #done: Promise<FillResult<T>>;
  #callers = 0;

  /** `firstPage` is the number of the first page to fetch; `onPage` hears of each one that came. */
  constructor(
    guard: Guard,
    feed: Feed,
    fetchPage: FetchPage<T>,
    want: number,
    { id, maxPages = DEFAULT_MAX_PAGES }: FillOptions<T>,
    firstPage: number,
    onPage: () => void,
  ) {
    this.#guard = guard;
    this.#feed = feed;
    this.#done = this.#run(fetchPage, want, id, maxPages, firstPage, onPage);
  }

  /** Ends the run: all callers get what has come so far. */
  abort(): void {
    this.#controller.abort();
  }

  /** What the run brings, or, when this caller's signal aborts, what it has brought so far. The last caller's leaving ends the run. */
  join(signal: AbortSignal | undefined): Promise<FillResult<T>> {
    this.#callers++;
    if (signal === undefined) return this.#done;
    return new Promise((resolve) => {
      const leave = () => {
        if (--this.#callers === 0) this.abort();
        resolve({ ...this.#result, items: this.#result.items.slice(), end: "aborted" });
      };
      if (signal.aborted) leave();
      signal.addEventListener("abort", leave);
      void this.#done.then((result) => {
        signal.removeEventListener("abort", leave);
        resolve(result);
      });
    });
  }

  async #run(
    fetchPage: FetchPage<T>,
    want: number,
    id: IdOf<T> | undefined,
    maxPages: number,
    firstPage: number,
    onPage: () => void,
  ): Promise<FillResult<T>> {
    const { signal } = this.#controller;
    const result = this.#result;
    const aborted = new Promise<null>((resolve) => {
      signal.addEventListener("abort", () => resolve(null));
    });
    try {
      // Callers that overlap join before anything happens.
      await Promise.resolve();
      while (result.items.length < want && !this.#isAborted()) {
        if (result.pages >= maxPages) {
          result.end = "max-pages";
          break;
        }
        const page = await Promise.race([fetchPage(firstPage + result.pages, signal), aborted]);
        if (this.#isAborted()) break;
        if (!this.#take(page, id)) {
          result.end = "exhausted";
          break;
        }
        onPage();
      }
    } catch (error) {
      result.end = "error";
      if (!this.#isAborted()) result.error = error;
    }
    if (this.#isAborted()) result.end = "aborted";
    return result;
  }

  /** A reset or the last caller's leaving may have come in any pause. */
  #isAborted(): boolean {
    return this.#controller.signal.aborted;
  }

  /** Whether there was anything in the page. Code without types may well answer with `undefined`. What cannot be read throws. */
  #take(page: FeedPage<T> | null | undefined, id: IdOf<T> | undefined): boolean {
    if (page === null || page === undefined) return false;
    if (page.seen !== undefined) this.#guard.apply(page.seen);
    const items = listOf(page.items);
    const fresh = this.#feed.admit(items, id);
    const result = this.#result;
    result.items.push(...fresh);
    result.stopped += items.length - fresh.length;
    result.pages++;
    return items.length > 0;
  }
}
