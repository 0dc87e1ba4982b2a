/** What an app in Vue uses. */
import { SeenGuard } from "seenguard";
import { useSeenFeed, useSeenGuard, useSeenPages, vSeen, type SeenElement } from "seenguard/vue";
import { computed, ref, type ComputedRef, type DirectiveArguments } from "vue";

interface Post {
  readonly id: string;
}

export function useFeed(userId: string): ComputedRef<readonly Post[]> {
  const older = ref<Post[]>([]);
  const guard = useSeenGuard(() => ({ namespace: `home:${userId}`, open: SeenGuard.open }));
  const { items } = useSeenPages(guard, () => Promise.resolve({ items: [] as Post[] }), { want: 8 });
  return useSeenFeed(
    guard,
    computed(() => [...items.value, ...older.value]),
  ).items;
}

export const directives = (element: SeenElement): DirectiveArguments => [[vSeen, element]];

// @ts-expect-error a namespace there must be; had the package no types, this would be no error
useSeenGuard({});
