/** The visible items of a component's list: the framework-independent part of `useSeenFeed`. */
import { passingFeed } from "../feed/feed.js";
import { collectIds, countItems, idsOfItem } from "../input/ids.js";
import type { SeenFeedOptions } from "../types/react.js";
import type { Feed, IdOf, Identified, SeenGuard } from "../types/seenguard.js";

export type FeedViewOptions<T> = SeenFeedOptions & { readonly id?: IdOf<T> };

/** The feed of a guard; for `null` one that shows everything; `undefined`: the guard is not open yet. */
export function feedOf(guard: SeenGuard | null | undefined, key: string | undefined): Feed | undefined {
  if (!guard) return guard === null ? passingFeed() : undefined;
  return guard.feed(key === undefined ? {} : { key });
}

/** The list of one component. */
export class FeedView<T> {
  /** Names of the items in a server-rendered first rendering, which pass. */
  private first: ReadonlySet<unknown> | undefined;
  /** Removes duplicates of these items. */
  private readonly passing = passingFeed();
  /** The feed shown first. Another feed starts a new list. */
  private feed: Feed | undefined;
  private shown: T[] = [];
  private onChange = (): void => {};

  /** Calls `onChange` when the items to show may have changed. Returns unsubscribe. */
  subscribe(guard: SeenGuard | null | undefined, onChange: () => void): () => void {
    this.onChange = onChange;
    return guard?.subscribe(onChange) ?? (() => {});
  }

  /** The items to show; the same array for the same items. */
  show(feed: Feed | undefined, items: readonly T[], { id, ssr }: FeedViewOptions<T>): T[] {
    this.first ??= new Set(ssr ? namesOf(items, id) : []);
    this.feed ??= feed;
    const first = this.feed === feed && this.first.size > 0 ? this.first : undefined;
    const list = first ? filter(this.passing, items, id) : items;
    let shown = filter(feed, list, id);
    if (first) {
      const [fresh, names] = [new Set(shown), namesOf(list, id)];
      shown = list.filter((item, index) => fresh.has(item) || first.has(names[index]));
    }
    const isSame =
      shown.length === this.shown.length && shown.every((item, index) => Object.is(item, this.shown[index]));
    if (!isSame) this.shown = shown;
    return this.shown;
  }

  /** Starts a new list. */
  reset(feed: Feed | undefined): void {
    this.first = new Set();
    feed?.reset();
    this.onChange();
  }
}

/** Shows nothing until the guard is open, since any item may have been seen. */
function filter<T>(feed: Feed | undefined, items: readonly T[], id: IdOf<T> | undefined): T[] {
  if (!feed) return [];
  return id ? feed.filter(items, id) : (feed.filter(items as readonly Identified[]) as T[]);
}

/** The first id of each item as a string, or the item itself if it has no usable id. */
function namesOf<T>(items: readonly T[], id: IdOf<T> | undefined): unknown[] {
  const names: unknown[] = [...items];
  const collected = collectIds(items, id);
  for (let index = 0; index < countItems(collected); index++)
    names[collected.indices?.[index] ?? index] = String(idsOfItem(collected, index)[0]);
  return names;
}
