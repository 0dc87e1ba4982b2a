/** The common parts of the apps: people, the server's pages, and the interface for tests. */
import type { FeedPage, GuardOptions, ObserveItemOptions, PageRequest, SeenGuard } from "seenguard";
import { open as openLazily } from "seenguard/lazy";

export const users = ["ada", "grace"] as const;
export type User = (typeof users)[number];

export interface Item {
  readonly id: string;
  readonly title: string;
}

/** The data that a server puts into a page: the first items exist before any guard is open. */
export interface Initial {
  /** Whether the server rendered them. */
  readonly ssr: boolean;
  readonly user: User;
  readonly items: readonly Item[];
}

declare global {
  interface Window {
    initial?: Initial;
    adapterApp: App;
  }
}

/** The interface of an app for tests. */
interface App {
  /** Each rendering of a list: whose name it bore, and the markers that its guard knew. */
  readonly renders: { user: User; knows: User[] }[];
  /** The guard of the latest rendering that had one. */
  guard?: SeenGuard;
  /** How many guards were opened. */
  opened: number;
  unmount: () => void;
  /** Records a marker in each person's namespace. */
  readonly seed: () => Promise<void>;
}

const app: App = { renders: [], opened: 0, unmount: () => undefined, seed };
if (typeof window !== "undefined") window.adapterApp = app;

export type Guard = SeenGuard | null | undefined;

/** Loads the guard on demand. */
export const open = (options: GuardOptions) => {
  app.opened++;
  return openLazily(options);
};

export const namespaceOf = (user: User) => `home:${user}`;

/** A shorter dwell time than the default. */
export const observing: ObserveItemOptions = { dwellMs: 200 };

export async function fetchPage(user: User, page: number): Promise<Item[]> {
  const response = await fetch(`/api/feed?user=${user}&page=${String(page)}`);
  return ((await response.json()) as { items: Item[] }).items;
}

/** The items that a pager has loaded: its pages overlap. */
export const loadedItems = (pages: number): { id: string }[] =>
  ["old-0", "old-1", "old-2", ...(pages > 1 ? ["old-2", "old-3"] : [])].map((id) => ({ id }));

/** For lists that load their own pages: there are three. */
export async function fetchFeedPage({ page, signal }: PageRequest): Promise<FeedPage<Item>> {
  const response = await fetch(`/api/feed?page=${String(page)}`, { signal });
  return { ...((await response.json()) as FeedPage<Item>), next: page < 2 ? "more" : null };
}

const markerOf = (user: User) => `marker-of-${user}`;

export function noteRender(user: User, guard: Guard): void {
  if (guard) app.guard = guard;
  app.renders.push({ user, knows: users.filter((each) => guard?.explain(markerOf(each)).seen) });
}

async function seed(): Promise<void> {
  for (const user of users) {
    const guard = await open({ namespace: namespaceOf(user) });
    guard.record(markerOf(user));
    await guard.close();
  }
}
