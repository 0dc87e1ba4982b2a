/** What a component shows of its list: the part of `useSeenFeed` that no framework has a say in. */
import type { SeenFeedOptions } from "../types/react.js";
import type { Feed, IdOf, Identified, ItemId, SeenGuard } from "../types/seenguard.js";

export type FeedViewOptions<T> = SeenFeedOptions & { readonly id?: IdOf<T> };

/** The feed that a guard makes by an adapter's options. */
export function feedOf(guard: SeenGuard, key: SeenFeedOptions["key"], seen: SeenFeedOptions["seen"]): Feed {
  return guard.feed({ ...(key !== undefined && { key }), ...(seen !== undefined && { seen }) });
}

/** The list of one component. */
export class FeedView<T> {
  /** The items of the first rendering, if a server rendered it, too: they pass. */
  private first: readonly T[] | undefined;
  /** The feed that was first shown. With another one, another list begins. */
  private feed: Feed | undefined;
  private shown: readonly T[] = [];

  /** The items to show; the same array for the same items. */
  show(feed: Feed | undefined, items: readonly T[], { id, ssr }: FeedViewOptions<T>): readonly T[] {
    this.first ??= ssr ? items : [];
    this.feed ??= feed;
    const first = this.feed === feed ? this.first : [];
    const shown = first.length > 0 ? showBeside(first, feed, items, id) : filter(feed, items, id);
    const isSame = shown.length === this.shown.length && shown.every((item, index) => item === this.shown[index]);
    if (!isSame) this.shown = shown;
    return this.shown;
  }

  /** A new list begins. */
  reset(feed: Feed | undefined): void {
    this.first = [];
    feed?.reset();
  }
}

/** Before the guard is open, nothing is shown that might have been seen. */
function filter<T>(feed: Feed | undefined, items: readonly T[], id: IdOf<T> | undefined): T[] {
  if (!feed) return [];
  return id ? feed.filter(items, id) : (feed.filter(items as readonly Identified[]) as T[]);
}

/** The same, but those of `first` pass, at their places; no other item with an id of theirs is shown. */
function showBeside<T>(
  first: readonly T[],
  feed: Feed | undefined,
  items: readonly T[],
  id: IdOf<T> | undefined,
): readonly T[] {
  const names = new Set(first.map((item) => namesOf(item, id)[0]));
  const taken = new Set<unknown>();
  const passes = items.map((item) => {
    const own = namesOf(item, id);
    if (!names.has(own[0]) || taken.has(own[0])) return false;
    for (const name of own) taken.add(name);
    return true;
  });
  const others = items.filter((item, place) => !passes[place] && !namesOf(item, id).some((name) => taken.has(name)));
  const rest = filter(feed, others, id);
  const kept = new Set(rest);
  // A feed may have moved what it kept: it keeps its places.
  return items.flatMap((item, place) => (passes[place] ? [item] : kept.has(item) ? rest.splice(0, 1) : []));
}

/** The ids of an item as texts, its own first; without any, or if it cannot be read, the item itself. */
function namesOf<T>(item: T, id: IdOf<T> | undefined): unknown[] {
  try {
    const own = id ? id(item) : typeof item === "object" ? (item as { id?: ItemId } | null)?.id : (item as ItemId);
    const names = [own].flat().flatMap((name) => (name === null || name === undefined ? [] : [String(name)]));
    return names.length > 0 ? names : [item];
  } catch {
    return [item];
  }
}
