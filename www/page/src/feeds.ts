/** The feed, twice: the server's pages in both columns, in one unchanged and in the other filtered by the guard. */
import type { Explanation, Feed, SeenGuard } from "seenguard";
import { idsOf, type Api, type Item } from "./api.ts";
import { Column, one } from "./column.ts";
import type { Experiment, Side } from "./experiment.ts";
import { onDevice } from "./device.ts";
import { copyReason, elsewhereReason, plural, reason } from "./format.ts";
import { withoutMarks, type StoredList, type StoredPage, type ShownItem } from "./stored-list.ts";
import type { ViewabilityOracle } from "./viewability-oracle.ts";

const PAGE_SIZE = 10;
/** The most pages that are loaded automatically while the end of the list stays in view. */
const MAX_AUTOMATIC = 3;

export interface FeedsParts {
  readonly api: Api;
  readonly guard: SeenGuard;
  readonly experiment: Experiment;
  readonly oracle: ViewabilityOracle;
  readonly stored: StoredList;
  readonly onPage: () => void;
  readonly onTrouble: (error: unknown) => void;
}

/** A page to show: the server's items, and those that pass the guard. */
interface Arrival extends StoredPage {
  readonly admitted: readonly ShownItem[];
}

export class Feeds {
  private readonly columns: Record<Side, Column>;
  /** From the whole catalogue, without seen items. */
  private readonly feed: Feed;
  /** From the small pool: the cursor of its next page, and the ids that this list has shown. */
  private poolCursor = "";
  private readonly shownOfPool = new Set<string>();
  private readonly root = one(document, "#feeds");
  private readonly announcement = one(document, "#announcement");
  /** The ids viewed in this list: an item that both columns show makes one impression. */
  private readonly viewed = new Set<string>();
  private fromPool = false;
  private pages = 0;
  /** The number of lists begun: pages that arrive for an earlier one are ignored. */
  private list = 0;
  private loading = false;
  private ended = false;
  private endInView = false;
  private automatic = 0;

  constructor(private readonly parts: FeedsParts) {
    // With a key its verdicts survive a visit to an article.
    this.feed = parts.guard.feed({ key: onDevice("catalogue") });
    const columnParts = {
      explain: (item: ShownItem) => this.explain(item),
      showAgain: (item: ShownItem) => this.showAgain(item),
      onShown: (element: HTMLElement) => parts.oracle.watch(element),
    };
    this.columns = { unguarded: new Column("unguarded", columnParts), guarded: new Column("guarded", columnParts) };
    this.followScrolling();
  }

  /** Whether the list is from the small pool. */
  get isFromPool(): boolean {
    return this.fromPool;
  }

  /** Begins a new list; the old one stays until the first page is loaded. */
  async refresh(fromPool = this.fromPool): Promise<void> {
    this.list += 1;
    this.automatic = 0;
    this.fromPool = fromPool;
    await this.load(true);
  }

  /** Shows the list from before an article was opened. Returns whether there was one. */
  restore(): boolean {
    const stored = this.parts.stored.restore();
    if (stored === undefined) return false;
    this.begin(stored.fromPool);
    this.automatic = MAX_AUTOMATIC;
    for (const page of stored.pages) {
      this.parts.stored.add(page);
      this.show({ ...page, admitted: stored.fromPool ? page.offered : this.admit(page.offered) });
    }
    scrollTo({ top: stored.scrollY, behavior: "instant" });
    return true;
  }

  /** Loads the first page, if its request has failed. */
  async startIfEmpty(): Promise<void> {
    if (this.pages === 0 && !this.loading) await this.refresh();
  }

  /** Loads the next page of the list. */
  async more(): Promise<void> {
    if (!this.loading && !this.ended) await this.load(false);
  }

  /** Whether this is the first view of the item in this list. */
  isFirstView(id: string): boolean {
    return this.viewed.size < this.viewed.add(id).size;
  }

  /** The number next to each column's title. */
  writeScores(): void {
    const { repeatsUnguarded, repeatsGuarded } = this.parts.experiment.counts;
    this.columns.unguarded.setRepeats(repeatsUnguarded);
    this.columns.guarded.setRepeats(repeatsGuarded);
  }

  private followScrolling(): void {
    const observer = new IntersectionObserver(
      (entries) => {
        // On a busy page several changes come at once, the latest last.
        this.endInView = entries.at(-1)?.isIntersecting ?? false;
        this.continueIfEndInView();
      },
      { rootMargin: "0px 0px 240px" },
    );
    observer.observe(one(document, "#end"));
    addEventListener("scroll", () => (this.automatic = 0), { passive: true });
  }

  private continueIfEndInView(): void {
    if (!this.endInView || this.pages === 0 || this.automatic >= MAX_AUTOMATIC) return;
    // A keyboard user could never tab past a list that grows meanwhile.
    if (document.querySelector("#feeds .column :focus-visible") !== null) return;
    this.automatic += 1;
    void this.more();
  }

  private async load(fresh: boolean): Promise<void> {
    const { onPage, onTrouble } = this.parts;
    const list = this.list;
    this.loading = true;
    this.root.setAttribute("aria-busy", "true");
    try {
      const arrival = await (this.fromPool ? this.fetchFromPool(fresh, list) : this.fetchPage(fresh, list));
      if (arrival === undefined || list !== this.list) return;
      const scrolledInto = fresh && this.root.getBoundingClientRect().top < 0;
      if (fresh) this.begin(this.fromPool);
      this.count(arrival);
      this.parts.stored.add({ arrived: arrival.arrived, offered: arrival.offered, repeated: arrival.repeated });
      this.show(arrival);
      if (scrolledInto) this.root.scrollIntoView({ block: "start", behavior: "instant" });
      onPage();
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

  /** Resolves to `undefined` if another list has begun meanwhile. */
  private async fetchPage(fresh: boolean, list: number): Promise<Arrival | undefined> {
    const { api, guard, experiment } = this.parts;
    const { items, elsewhere, snapshot } = await api.page(experiment.nextTurn(), PAGE_SIZE, guard.headers());
    if (list !== this.list) return undefined;
    if (fresh) this.feed.reset();
    const result = guard.apply(snapshot);
    if (result.applied) experiment.applied(snapshot);
    else if (result.reason === "older-version") experiment.add({ olderStates: 1 });
    this.ended = items.length === 0;
    const arrived = this.withTimes(items).map((item) =>
      elsewhere.includes(item.id) ? { ...item, isElsewhere: true as const } : item,
    );
    return { arrived, offered: arrived, repeated: 0, admitted: this.admit(arrived) };
  }

  /** Leaves out the items of another device; the guard decides on the others. */
  private admit(items: readonly ShownItem[]): ShownItem[] {
    return this.feed.admit(
      items.filter(({ isElsewhere }) => isElsewhere !== true),
      idsOf,
    );
  }

  /** The server puts seen items at the pool's end, and the guard those that only this device has shown at the page's end. */
  private async fetchFromPool(fresh: boolean, list: number): Promise<Arrival | undefined> {
    const { api, guard, experiment } = this.parts;
    const { items, snapshot, next } = await api.pool(fresh ? "" : this.poolCursor, PAGE_SIZE, guard.headers());
    if (list !== this.list) return undefined;
    if (fresh) this.shownOfPool.clear();
    guard.apply(snapshot);
    if (snapshot !== undefined) experiment.applied(snapshot);
    this.poolCursor = next ?? "";
    this.ended = next === null;
    const arrived = this.withTimes(items);
    const parts = guard.split(
      arrived.filter(({ id }) => !this.shownOfPool.has(id)),
      idsOf,
    );
    const offered = [...parts.fresh, ...parts.seen];
    for (const { id } of offered) this.shownOfPool.add(id);
    // The server has put items of other devices last, too, which this guard does not know.
    const firstFresh = parts.fresh.findLastIndex(({ seenAt }) => seenAt === undefined);
    const repeated = offered.length - firstFresh - 1;
    return { arrived, offered, repeated, admitted: offered };
  }

  /** Adds the time at which each item was seen before, by the exact record. */
  private withTimes(items: readonly ShownItem[]): ShownItem[] {
    return items.map(({ seenAt: _, ...item }) => {
      const seenAt = this.parts.experiment.seenAt(idsOf(item));
      return seenAt === undefined ? item : { ...item, seenAt };
    });
  }

  /** Empties the page for another list. */
  private begin(fromPool: boolean): void {
    this.fromPool = fromPool;
    this.pages = 0;
    this.ended = false;
    this.viewed.clear();
    this.parts.stored.begin(fromPool);
    for (const column of Object.values(this.columns)) {
      this.parts.oracle.forget(column.items());
      column.clear();
    }
  }

  private show({ arrived, offered, repeated, admitted }: Arrival): void {
    this.pages += 1;
    const passed = new Set(admitted);
    const stopped = offered.filter((item) => !passed.has(item));
    const number = this.pages;
    this.columns.unguarded.append({ number, shown: arrived, repeated: 0, stopped: [] });
    this.columns.guarded.append({ number, shown: admitted, repeated, stopped });
    this.writeScores();
    const unguarded = `${plural(arrived.length, "item")}, ${plural(repeatsOf(arrived), "repeat")} without guard`;
    const guarded = repeated > 0 ? `${String(repeated)} seen before, shown last` : `${String(stopped.length)} stopped`;
    this.announcement.textContent = `Page ${String(number)}: ${unguarded}, ${guarded} with Seenguard.`;
  }

  private count({ arrived, offered, repeated, admitted }: Arrival): void {
    const { experiment } = this.parts;
    const repeatsGuarded = repeatsOf(admitted.slice(0, admitted.length - repeated));
    experiment.add({ repeatsUnguarded: repeatsOf(arrived), repeatsGuarded });
    for (const item of offered) if (!admitted.includes(item)) this.countStopped(item);
    experiment.save();
  }

  /** Counts a stopped item, as right or as a false positive. */
  private countStopped(item: ShownItem): void {
    const { experiment } = this.parts;
    if (item.isElsewhere === true) {
      experiment.add({ stopped: 1, elsewhere: 1 });
      return;
    }
    const why = this.whyStopped(item);
    const wasSeen = experiment.seenAt(idsOf(item)) !== undefined || (why.seen && why.by === "pending");
    if (wasSeen) experiment.add({ stopped: 1 });
    // An item that nothing stops is in the list already, and was not seen yet.
    else if (why.seen) experiment.add({ mistaken: 1 });
  }

  /** The guard's explanation of the item's own id, or else of its group's. */
  private whyStopped(item: Item): Explanation {
    const explanations = idsOf(item).map((id) => this.parts.guard.explain(id));
    return explanations.find(({ seen }) => seen) ?? { seen: false };
  }

  private explain(item: ShownItem): string {
    const { guard, experiment } = this.parts;
    if (item.isElsewhere === true) return elsewhereReason(experiment.seenAt(idsOf(item)));
    const why = this.whyStopped(item);
    const text = reason(why, experiment.seenAt(idsOf(item)), guard.stats().serverFalsePositiveRate);
    if (item.copyOf === undefined) return text;
    const isByGroup = why.seen && !guard.explain(item.id).seen;
    return `${copyReason(item.copyOf)}${isByGroup ? ": stopped by that item's id" : ""}. ${text}`;
  }

  /** Notes unseen ids: the feed decides them again, and showing them is not a repeat. */
  noteUnseen(ids: readonly string[]): void {
    this.parts.experiment.unsee(ids);
    for (const id of ids) this.parts.stored.unsee(id);
  }

  /** Makes the item unseen, unless it is already, and adds it to the list; nothing if it is in the list already. */
  private showAgain(item: ShownItem): ShownItem | undefined {
    if (item.isElsewhere === true || this.whyStopped(item).seen) {
      this.parts.guard.unsee(idsOf(item));
      this.noteUnseen(idsOf(item));
    }
    const [shown] = this.feed.admit(this.withTimes([withoutMarks(item)]), idsOf);
    if (shown !== undefined) this.announcement.textContent = `${item.title} is shown again.`;
    return shown;
  }
}

function repeatsOf(items: readonly ShownItem[]): number {
  return items.filter(({ seenAt }) => seenAt !== undefined).length;
}
