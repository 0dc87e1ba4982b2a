/** What the apps have in common: people, the server's pages, and what the tests ask them. */
import { SeenGuard, type ObserveOptions } from "seenguard";

export const users = ["ada", "grace"] as const;
export type User = (typeof users)[number];

export interface Item {
  readonly id: string;
  readonly title: string;
}

/** What a server puts into a page that it rendered. */
export interface Initial {
  readonly user: User;
  readonly items: readonly Item[];
}

declare global {
  interface Window {
    /** Absent: the page was not rendered on the server. */
    initial?: Initial;
    /** Each rendering of a list: whose name it bore, and the markers that its guard knew. */
    renders: { user: User; knows: User[] }[];
    /** The guard of the latest rendering that had one. */
    guard: SeenGuard | undefined;
    unmount: () => void;
    seed: () => Promise<void>;
  }
}

export const namespaceOf = (user: User) => `home:${user}`;

/** An item counts as seen sooner than usual. */
export const observing: ObserveOptions = { dwellMs: 200 };

export async function fetchPage(user: User, page: number): Promise<Item[]> {
  const response = await fetch(`/api/feed?user=${user}&page=${String(page)}`);
  return (await response.json()) as Item[];
}

const markerOf = (user: User) => `marker-of-${user}`;

export function noteRender(user: User, guard: SeenGuard | undefined): void {
  if (typeof window === "undefined") return;
  window.guard = guard ?? window.guard;
  (window.renders ??= []).push({ user, knows: users.filter((each) => guard?.has(markerOf(each))) });
}

/** Has each person's namespace know a marker. */
export async function seed(): Promise<void> {
  for (const user of users) {
    const guard = await SeenGuard.open({ namespace: namespaceOf(user) });
    guard.record(markerOf(user));
    await guard.close();
  }
}
