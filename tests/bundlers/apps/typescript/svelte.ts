/** What an app in Svelte uses. */
import type { Action } from "svelte/action";
import { SeenGuard } from "seenguard";
import { seen, seenFeed, seenGuard, seenPages, type SeenElement } from "seenguard/svelte";

interface Post {
  readonly id: string;
}

export function feed(userId: string): { readonly items: readonly Post[] } {
  const guard = seenGuard(() => ({ namespace: `home:${userId}`, open: SeenGuard.open }));
  const pages = seenPages(
    () => guard.current,
    () => Promise.resolve({ items: [] as Post[] }),
    { want: 8 },
  );
  return seenFeed(
    () => guard.current,
    () => pages.items,
  );
}

export const action: Action<Element, SeenElement> = seen;

// @ts-expect-error a namespace there must be; had the package no types, this would be no error
seenGuard({});
