/** All of the client's code for Seenguard. */
import { open } from "seenguard/lazy";
import { useReport, useSeenFeed, useSeenGuard, useSeenRoot } from "seenguard/react";
import type { Post } from "./store.ts";

const namespaceOf = (account: string) => `home:${account}`;

/** The timeline of an account: its fresh posts, a ref for their list, and the headers of a request. */
export function useSeenTimeline(account: string | null, posts: readonly Post[]) {
  const { guard, status } = useSeenGuard(account ? { namespace: namespaceOf(account), open } : null);
  useReport(guard, { url: `/api/accounts/${String(account)}/seen` });
  const { items, reset } = useSeenFeed(guard, posts);
  return { items, reset, status, guard, list: useSeenRoot(guard, { dwellMs: 200 }), headers: guard?.headers() ?? {} };
}

/** Delivers undelivered impressions, and deletes the account's data on this device. */
export async function forgetAccount(account: string): Promise<void> {
  const { SeenGuard } = await import("seenguard");
  await SeenGuard.signOut(namespaceOf(account));
}
