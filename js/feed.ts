/** `Feed`: one visible list, which decides each id once, so that what was fresh when it arrived stays though it has been seen since. */
import { SeenGuardError, type ErrorListener } from "./errors.js";
import { checkFill, FillRun, type FetchPage } from "./fill.js";
import { collectIds, listOf, passing } from "./ids.js";
import type * as Api from "./seenguard.js";

type Identified = Api.ItemId | { readonly id: Api.ItemId };

/** What a feed asks of its guard. */
export interface Decider {
  freshOf(ids: readonly Api.ItemId[], withoutId: number): Iterable<number>;
  apply(snapshot: Api.Snapshot | null | undefined): Api.ApplyReport;
}

/** Most verdicts that a feed keeps. */
const MAX_VERDICTS = 20_000;

export class Feed implements Api.Feed {
  readonly #guard: Decider;
  readonly #report: ErrorListener;
  /** Whether an id is fresh, in the order of deciding. */
  #verdicts = new Map<string, boolean>();
  /** Ids that a page has brought. */
  #admitted = new Set<string>();
  /** Whether verdicts were forgotten for want of room, which is reported once. */
  #isFull = false;
  /** What each page got. */
  #pages = new WeakMap<readonly unknown[], readonly unknown[]>();

  /** The run of `fill` that is going on. */
  #filling: { abort(): void } | undefined;
  /** The number of the page that `fill` fetches next. */
  #nextPage = 0;

  constructor(guard: Decider, report: ErrorListener) {
    this.#guard = guard;
    this.#report = report;
  }

  filter<T extends Identified>(items: readonly T[]): T[];
  filter<T>(items: readonly T[], id: Api.IdOf<T>): T[];
  filter<T>(items: readonly T[], id?: Api.IdOf<T>): T[] {
    const list = listOf(items);
    const met = new Set<string>();
    return this.#select(list, id, (key) => {
      const isFirst = !met.has(key);
      met.add(key);
      return isFirst;
    });
  }

  admit<T extends Identified>(page: readonly T[]): T[];
  admit<T>(page: readonly T[], id: Api.IdOf<T>): T[];
  admit<T>(page: readonly T[], id?: Api.IdOf<T>): T[] {
    const list = listOf(page);
    let admitted = this.#pages.get(list) as readonly T[] | undefined;
    if (admitted === undefined) {
      admitted = this.#select(list, id, (key) => {
        const isNew = !this.#admitted.has(key);
        this.#admitted.add(key);
        return isNew;
      });
      this.#pages.set(list, admitted);
    }
    return admitted.slice();
  }

  async fill<T>(fetchPage: FetchPage<T>, want: number, options: Api.FillOptions<T> = {}): Promise<Api.FillResult<T>> {
    checkFill(fetchPage, want, options.maxPages);
    let run = this.#filling as FillRun<T> | undefined;
    if (run === undefined) {
      const onPage = () => {
        if (this.#filling === started) this.#nextPage++;
      };
      const started = new FillRun<T>(this.#guard, this, fetchPage, want, options, this.#nextPage, onPage);
      run = this.#filling = started;
    }
    const result = await run.join(options.signal);
    if (this.#filling === run) this.#filling = undefined;
    return result;
  }

  reset(): void {
    this.#filling?.abort();
    this.#filling = undefined;
    this.#nextPage = 0;
    this.#verdicts = new Map();
    this.#admitted = new Set();
    this.#pages = new WeakMap();
  }

  /** The items that are fresh by this feed's verdicts and that `takes` takes; those without an id stay. */
  #select<T>(list: readonly T[], id: Api.IdOf<T> | undefined, takes: (key: string) => boolean): T[] {
    const { ids, places } = collectIds(list, typeof id === "function" ? id : undefined);
    const keys = ids.map(String);
    this.#decide(ids, keys, list.length - ids.length);
    const stopped = new Set<number>();
    keys.forEach((key, index) => {
      if (!this.#verdicts.get(key) || !takes(key)) stopped.add(places?.[index] ?? index);
    });
    this.#forgetOldest(keys);
    return passing(list, (index) => !stopped.has(index));
  }

  /** Asks the guard for what is not decided yet. It counts the items without an id, too: they come up at every call. */
  #decide(ids: readonly Api.ItemId[], keys: readonly string[], withoutId: number): void {
    const undecided = keys.flatMap((key, index) => (this.#verdicts.has(key) ? [] : [index]));
    if (undecided.length === 0 && withoutId === 0) return;
    for (const index of undecided) this.#verdicts.set(keys[index] ?? "", false);
    const asked = undecided.map((index) => ids[index] ?? "");
    for (const fresh of this.#guard.freshOf(asked, withoutId)) {
      this.#verdicts.set(keys[undecided[fresh] ?? 0] ?? "", true);
    }
  }

  /** Keeps the verdicts within their limit; those of the list at hand go last. */
  #forgetOldest(current: readonly string[]): void {
    if (this.#verdicts.size <= MAX_VERDICTS) return;
    const message = `a feed keeps ${MAX_VERDICTS} verdicts: the oldest are forgotten, and decided anew if their items come back`;
    if (!this.#isFull) this.#report(new SeenGuardError("too-large", message));
    this.#isFull = true;
    const kept = new Set(current);
    const others = [...this.#verdicts.keys()].filter((key) => !kept.has(key));
    for (const key of [...others, ...kept].slice(0, this.#verdicts.size - MAX_VERDICTS)) {
      this.#verdicts.delete(key);
      this.#admitted.delete(key);
    }
  }
}
