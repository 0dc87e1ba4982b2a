/** Filling a page: fetching until enough fresh items are there. Calls that overlap share one run. */
import { SeenGuardError } from "./errors.js";
import { listOf } from "./ids.js";
import type { FeedPage, FillOptions, FillResult, IdOf, Snapshot } from "./seenguard.js";

/** What filling asks of its feed. */
export interface Fillable {
  apply(snapshot: Snapshot): unknown;
  admit<T>(page: readonly T[], id: IdOf<T> | undefined): T[];
}

export type FetchPage<T> = (page: number, signal: AbortSignal) => Promise<FeedPage<T> | null>;

const DEFAULT_MAX_PAGES = 5;

/** Checks what `fill` was called with. */
export function checkFill(fetchPage: unknown, want: unknown, maxPages: unknown): void {
  const fail = (message: string) => {
    throw new SeenGuardError("bad-option", message);
  };
  if (typeof fetchPage !== "function") fail("fill takes a function that fetches a page");
  if (typeof want !== "number" || !(want >= 0)) fail("fill takes the number of fresh items that are wanted");
  if (maxPages !== undefined && !(typeof maxPages === "number" && maxPages >= 1))
    fail("maxPages must be a number, 1 or more");
}

/** One run of fetching, for all the callers that came while it went on. */
export class FillRun<T> {
  readonly #controller = new AbortController();
  readonly #feed: Fillable;
  readonly #result: FillResult<T> = { items: [], pages: 0, stopped: 0, end: "filled" };
  readonly #done: Promise<FillResult<T>>;
  #callers = 0;

  /** `firstPage` is the number of the first page to fetch; `onPage` hears of each one that came. */
  constructor(
    feed: Fillable,
    fetchPage: FetchPage<T>,
    want: number,
    options: FillOptions<T>,
    firstPage: number,
    onPage: () => void,
  ) {
    this.#feed = feed;
    this.#done = this.#run(fetchPage, want, options, firstPage, onPage);
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
      if (signal.aborted) {
        leave();
        return;
      }
      signal.addEventListener("abort", leave, { once: true });
      void this.#done.then((result) => {
        signal.removeEventListener("abort", leave);
        resolve(result);
      });
    });
  }

  async #run(
    fetchPage: FetchPage<T>,
    want: number,
    options: FillOptions<T>,
    firstPage: number,
    onPage: () => void,
  ): Promise<FillResult<T>> {
    const { signal } = this.#controller;
    const { id, maxPages = DEFAULT_MAX_PAGES } = options;
    const result = this.#result;
    // Callers that overlap join before anything happens.
    await Promise.resolve();
    while (result.items.length < want) {
      if (this.#isAborted()) return this.#end("aborted");
      if (result.pages >= maxPages) return this.#end("max-pages");
      try {
        const page = await Promise.race([fetchPage(firstPage + result.pages, signal), aborted(signal)]);
        if (page === ABORTED || this.#isAborted()) return this.#end("aborted");
        if (isNothing(page) || !this.#take(page, id)) return this.#end("exhausted");
      } catch (error) {
        return this.#isAborted() ? this.#end("aborted") : this.#end("error", error);
      }
      onPage();
    }
    return this.#end("filled");
  }

  /** A reset or the last caller's leaving may have come in any pause. */
  #isAborted(): boolean {
    return this.#controller.signal.aborted;
  }

  /** Whether there was anything in the page. What cannot be read throws. */
  #take({ seen, items: given }: FeedPage<T>, id: IdOf<T> | undefined): boolean {
    if (seen !== undefined) this.#feed.apply(seen);
    const items = listOf(given);
    const fresh = this.#feed.admit(items, id);
    this.#result.items.push(...fresh);
    this.#result.stopped += items.length - fresh.length;
    this.#result.pages++;
    return items.length > 0;
  }

  #end(end: FillResult<T>["end"], error?: unknown): FillResult<T> {
    this.#result.end = end;
    if (end === "error") this.#result.error = error;
    return this.#result;
  }
}

/** Code without types may well answer with `undefined`. */
function isNothing(page: unknown): page is null | undefined {
  return page === null || page === undefined;
}

const ABORTED = Symbol("aborted");

function aborted(signal: AbortSignal): Promise<typeof ABORTED> {
  return new Promise((resolve) => {
    signal.addEventListener(
      "abort",
      () => {
        resolve(ABORTED);
      },
      { once: true },
    );
  });
}
