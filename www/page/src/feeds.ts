/** The feed, twice: the same pages of the server into both columns, one as they come and one through the guard. */
import type { Feed, SeenGuard } from "seenguard";
import type { Api, Item, Page } from "./api.ts";
import { Column, one, type ShownItem } from "./column.ts";
import type { Experiment, Side } from "./experiment.ts";
import type { ViewabilityOracle } from "./viewability-oracle.ts";
import { plural, reason } from "./format.ts";

const PAGE_SIZE = 10;
/** Pages that are fetched by themselves while the end of the list stays in view; then somebody has to ask. */
const MOST_UNASKED = 3;

export interface FeedsParts {
  readonly api: Api;
  readonly guard: SeenGuard;
  readonly experiment: Experiment;
  readonly oracle: ViewabilityOracle;
  readonly onPage: (page: Page) => void;
  readonly onTrouble: (error: unknown) => void;
}

export class Feeds {
  private readonly columns: Record<Side, Column>;
  private readonly feed: Feed;
  private readonly root = one(document, "#feeds");
  private readonly announcement = one(document, "#announcement");
  /** What has been looked at in this list: an item that both columns show makes one impression. */
  private readonly looked = new Set<string>();
  private pages = 0;
  /** Counts lists begun: what arrives for an earlier one is thrown away. */
  private list = 0;
  private loading = false;
  private ended = false;
  private endInView = false;
  private unasked = 0;

  constructor(private readonly parts: FeedsParts) {
    this.feed = parts.guard.feed();
    const explain = (id: string): string => this.explain(id);
    this.columns = { unguarded: new Column("unguarded", explain), guarded: new Column("guarded", explain) };
    this.followScrolling();
  }

  /** A new list begins; the old one stays until the first page is there. */
  async refresh(): Promise<void> {
    this.list += 1;
    this.unasked = 0;
    await this.load(true);
  }

  /** The first page, if it could not be had when it was asked for. */
  async startIfEmpty(): Promise<void> {
    if (this.pages === 0 && !this.loading) await this.refresh();
  }

  /** The next page of the list. */
  async more(): Promise<void> {
    if (!this.loading && !this.ended) await this.load(false);
  }

  /** Whether this is the first look at the item in this list. */
  isFirstLook(id: string): boolean {
    return this.looked.size < this.looked.add(id).size;
  }

  private followScrolling(): void {
    const observer = new IntersectionObserver(
      ([entry]) => {
        this.endInView = entry?.isIntersecting ?? false;
        this.continueIfEndInView();
      },
      { rootMargin: "0px 0px 240px" },
    );
    observer.observe(one(document, "#end"));
    addEventListener("scroll", () => (this.unasked = 0), { passive: true });
  }

  private continueIfEndInView(): void {
    if (!this.endInView || this.pages === 0 || this.unasked >= MOST_UNASKED) return;
    // Who goes through the items by keyboard would never get past a list that grows on the way.
    if (document.querySelector("#feeds .column :focus-visible") !== null) return;
    this.unasked += 1;
    void this.more();
  }

  private async load(fresh: boolean): Promise<void> {
    const { api, experiment, onPage, onTrouble } = this.parts;
    const list = this.list;
    this.loading = true;
    this.root.setAttribute("aria-busy", "true");
    try {
      const page = await api.page(experiment.nextTurn(), PAGE_SIZE);
      if (list !== this.list) return;
      const scrolledInto = this.root.getBoundingClientRect().top < 0;
      if (fresh) this.begin();
      this.show(page);
      if (fresh && scrolledInto) this.root.scrollIntoView({ block: "start", behavior: "instant" });
      onPage(page);
    } catch (error) {
      onTrouble(error);
      return;
    } finally {
      if (list === this.list) {
        this.loading = false;
        this.root.removeAttribute("aria-busy");
      }
    }
    // Once the new items have been laid out, the end of the list may still be in view.
    requestAnimationFrame(() => requestAnimationFrame(() => this.continueIfEndInView()));
  }

  private begin(): void {
    this.pages = 0;
    this.ended = false;
    this.looked.clear();
    this.feed.reset();
    for (const column of Object.values(this.columns)) {
      this.parts.oracle.forget(column.items());
      column.clear();
    }
  }

  private show({ items, seen }: Page): void {
    const { guard, experiment } = this.parts;
    this.pages += 1;
    this.ended = items.length === 0;
    if (guard.apply(seen).reason === "older-version") experiment.add({ olderStates: 1 });
    const admitted = new Set(this.feed.admit(items));
    const stopped = items.filter((item) => !admitted.has(item));
    const repeats = this.append("unguarded", items, []);
    this.append("guarded", [...admitted], stopped);
    for (const { id } of stopped) this.judge(id);
    experiment.keep();
    const unguarded = `${plural(items.length, "item")}, ${plural(repeats, "repeat")} without guard`;
    const guarded = `${String(stopped.length)} stopped with Seenguard`;
    this.announcement.textContent = `Page ${String(this.pages)}: ${unguarded}, ${guarded}.`;
  }

  /** Returns how many of the items are repeats. */
  private append(side: Side, items: readonly Item[], stopped: readonly Item[]): number {
    const { experiment, oracle } = this.parts;
    const shown: ShownItem[] = items.map((item) => ({ ...item, seenAt: experiment.seenAt(item.id) }));
    for (const element of this.columns[side].append(this.pages, shown, stopped)) oracle.watch(element);
    const repeats = shown.filter(({ seenAt }) => seenAt !== undefined).length;
    experiment.add(side === "guarded" ? { repeatsGuarded: repeats } : { repeatsUnguarded: repeats });
    this.writeScores();
    return repeats;
  }

  /** The number beside each column's title. */
  writeScores(): void {
    const { repeatsUnguarded, repeatsGuarded } = this.parts.experiment.counts;
    this.columns.unguarded.setRepeats(repeatsUnguarded);
    this.columns.guarded.setRepeats(repeatsGuarded);
  }

  /** Was it right to stop this item? */
  private judge(id: string): void {
    const { guard, experiment } = this.parts;
    const why = guard.explain(id);
    const wasSeen = experiment.seenAt(id) !== undefined || (why.seen && why.by === "pending");
    if (wasSeen) experiment.add({ stopped: 1 });
    // An item that nothing stops is in the list already, and nobody has looked at it yet.
    else if (why.seen) experiment.add({ mistaken: 1 });
  }

  private explain(id: string): string {
    const { guard, experiment } = this.parts;
    return reason(guard.explain(id), experiment.seenAt(id), guard.stats().serverFalsePositiveRate);
  }
}
