/**
 * A consumer that uses everything that is declared. contract.test.ts compiles it, and sees to it that nothing is left
 * out here. It never runs.
 */
import {
  SeenGuard,
  SeenGuardError,
  type ApplyResult,
  type EngineModule,
  type ErrorCode,
  type Explanation,
  type Feed,
  type FeedOptions,
  type FeedPage,
  type FetchPage,
  type FillOptions,
  type FillResult,
  type FlushOptions,
  type GuardedFetchOptions,
  type GuardOptions,
  type GuardStats,
  type Identified,
  type IdOf,
  type Impression,
  type ItemId,
  type MatchedRequest,
  type ObserveOptions,
  type PageRequest,
  type RecordOptions,
  type Report,
  type ReportOptions,
  type SeenElement,
  type SeenStorage,
  type ShardFormat,
  type Snapshot,
} from "seenguard";

interface Post {
  readonly key: number;
  readonly title: string;
}

const ids: readonly ItemId[] = ["a", 1, 2n];
const posts: readonly Post[] = [{ key: 1, title: "One" }];
const identified: readonly (Identified & { readonly id: bigint })[] = [{ id: 3n }];
const keyOf: IdOf<Post> = ({ key }) => (key > 0 ? key : key < 0 ? null : undefined);
const allIdsOf: IdOf<Post> = ({ key, title }) => [key, title, null, undefined];

const formats: readonly ShardFormat[] = [
  "seenguard",
  "guava",
  "bits-and-blooms",
  "redisbloom",
  { kind: "go-bloomfilter", hashes: 10 },
  { kind: "go-bloomfilter", capacity: 1000, falsePositiveRate: 0.001 },
];
const snapshot: Snapshot = {
  version: 1,
  shards: ["text", ["chunk", "chunk"]],
  format: "seenguard",
  now: 1_764_000_000,
  unseen: [{ id: "a", at: 1_764_000_000_000 }],
  forgetBefore: 1_763_000_000,
};

class Preferences implements SeenStorage {
  readonly #values = new Map<string, string>();
  get(key: string): Promise<string | null> {
    return Promise.resolve(this.#values.get(key) ?? null);
  }
  set(key: string, value: string): void {
    this.#values.set(key, value);
  }
  async remove(key: string): Promise<void> {
    await Promise.resolve(this.#values.delete(key));
  }
  keys(): readonly string[] {
    return [...this.#values.keys()];
  }
}

async function storageOf({ storage }: GuardOptions): Promise<void> {
  if (typeof storage !== "object") return;
  const value: string | null | undefined = await storage.get("key");
  await storage.set("key", value ?? "");
  const keys: readonly string[] = await storage.keys();
  await storage.remove(keys[0] ?? "key");
}

const options: GuardOptions = {
  namespace: "home:1",
  storage: new Preferences(),
  windowDays: 30,
  remember: 20_000,
  fallback: () => Promise.resolve<EngineModule>({ createEngine: () => ({}) }),
  onError: (error) => {
    const code: ErrorCode = error.code;
    console.warn(code, error.message);
  },
  onLag: (lagMs, id) => {
    console.log(lagMs.toFixed(), id.length);
  },
};

export async function guardedPage(root: Element, element: HTMLElement): Promise<void> {
  await storageOf(options);
  const guard = await SeenGuard.open(options);
  showResult(guard.apply(snapshot));
  for (const format of formats) guard.apply({ shards: [], format });
  guard.apply(null);
  guard.apply(undefined);

  const fresh: ItemId[] = guard.filter(ids);
  const freshIdentified: { readonly id: bigint }[] = guard.filter(identified);
  const freshPosts: Post[] = guard.filter(posts, keyOf);
  const [splitIds, splitPosts] = [guard.split(ids), guard.split(posts, allIdsOf)];
  const allIds: ItemId[] = splitIds.fresh.concat(splitIds.seen);
  const allPosts: Post[] = splitPosts.fresh.concat(splitPosts.seen);
  for (const id of [fresh[0] ?? "a", freshIdentified[0]?.id ?? 0n, freshPosts[0]?.key ?? 1]) explain(guard.explain(id));

  const elsewhere: RecordOptions = { local: true };
  const unknown: number = guard.record("a") + guard.record(new Set([1, 2n])) + guard.record("b", elsewhere);
  const stopped: number = guard.unsee("a") + guard.unsee(new Set([1, 2n]));
  const pending: string[] = guard.pending(unknown).concat(guard.pending());
  const headers: Record<string, string> = guard.headers();
  const matching: GuardedFetchOptions[] = [
    { match: "/api/feed", fetch: globalThis.fetch },
    { match: /feed/ },
    { match: ({ url, method, init }: MatchedRequest) => method === "GET" && url !== "" && init === undefined },
  ];
  for (const options of matching) await guard.fetch(options)("/api/feed", { headers });

  const keyed: FeedOptions = { key: "home" };
  await fillFeed(guard.feed());
  await fillFeed(guard.feed(keyed));
  const stops: (() => void)[] = [watch(guard, root, element), guard.observe(root), guard.observe(element, { id: 1 })];
  stops.push(guard.observe(document), guard.observe(element.attachShadow({ mode: "closed" })));
  stops.push(guard.observe(element, { id: [1, "a", 2n] }));
  stops.push(...deliver(guard));
  for (const stop of stops) stop();

  showStats(guard.stats());
  console.log(pending.length, stopped);
  console.log(allIds.length, allPosts.length);
  const quick: FlushOptions = { timeoutMs: 1000 };
  const delivery = await guard.flush();
  if (delivery.left > 0) console.log(delivery.delivered.toFixed(), await guard.flush(quick));
  await guard.flush();
  await guard.close();
  await SeenGuard.clear("home:1");
  await SeenGuard.clear("home:1", "indexeddb");
  for (const storage of ["local", "none", new Preferences()] as const) await SeenGuard.clear("home:1", storage);
}

function watch(guard: SeenGuard, root: Element, element: Element): () => void {
  const observe: ObserveOptions = {
    attribute: "data-seen-id",
    idsOf: (id, element) => [id, element.tagName, 1, 2n],
    threshold: 0.5,
    dwellMs: 1000,
    local: false,
    onImpression: (id, element) => {
      console.log(id.length, element.tagName);
    },
  };
  const shown: SeenElement = { ...observe, guard, id: "a" };
  const stops = [
    guard.observe(root, observe),
    shown.guard?.observe(element, { ...observe, id: shown.id }) ?? (() => undefined),
  ];
  return () => {
    for (const stop of stops) stop();
  };
}

function deliver(guard: SeenGuard): (() => void)[] {
  const sent = (impression: Impression) => [impression.id.length, impression.at.toFixed()];
  const send = async ({ impressions, unseen = [], pending }: Report, reason: "interval" | "hide" | "flush") => {
    const body = JSON.stringify([impressions.map(sent), unseen.map(sent), pending]);
    await fetch("/impressions", { method: "POST", body, keepalive: reason === "hide" });
  };
  const report: ReportOptions = { url: "/impressions", headers: { authorization: "…" }, send, intervalMs: 5000 };
  const elsewhere: ReportOptions = { url: "/impressions", fetch: globalThis.fetch, credentials: "include" };
  const tokens: (() => Record<string, string>) | (() => Promise<Record<string, string>>) =
    report.intervalMs === 0 ? () => ({ authorization: "…" }) : () => Promise.resolve({ authorization: "…" });
  return [
    guard.report(report),
    guard.report(elsewhere),
    guard.report({ url: "/impressions", headers: tokens }),
    guard.report({ send }),
  ];
}

/** What a server gets. */
export function received({ namespace, now, impressions, unseen = [] }: Report): Impression[] {
  return namespace === "home:1" && now > 0 ? [...impressions, ...unseen] : [];
}

async function fillFeed(feed: Feed): Promise<void> {
  const visible: Post[] = feed.filter(posts, keyOf);
  const visibleIds: ItemId[] = feed.filter(ids);
  const added: Post[] = feed.admit(posts, keyOf);
  const addedIdentified: { readonly id: bigint }[] = feed.admit(identified);
  const fetchPage: FetchPage<Post> = async ({ page, cursor, headers, signal }: PageRequest) => {
    signal.throwIfAborted();
    await fetch("/api/feed", { headers, signal });
    const next: string | null = page > 2 ? null : `${String(cursor)}/1`;
    const answer: FeedPage<Post> = { items: posts, snapshot, next, degraded: false };
    return Promise.resolve(page > 3 ? null : { ...answer, items: answer.items.slice(page) });
  };
  const fetchAfter: FetchPage<Post, number> = ({ cursor = 0 }: PageRequest<number>) =>
    Promise.resolve<FeedPage<Post, number>>({ items: posts, next: cursor + 1 });
  const fill: FillOptions = { maxPages: 5, timeoutMs: 10_000, signal: AbortSignal.timeout(1000) };
  const unsignalled: FillOptions = { signal: null };
  const filled = await feed.fill(fetchPage, 20, { ...fill, id: keyOf });
  const after: FillResult<Post, number> = await feed.fill(fetchAfter, 20, { id: keyOf });
  const more = await feed.fill(() => Promise.resolve({ items: identified }), 20, unsignalled);
  const next: string | null | undefined = filled.done ? null : filled.next;
  const end: "filled" | "exhausted" | "max-pages" | "aborted" | "error" = filled.end;
  if (end === "error") throw filled.error;
  const ofList = await feed.fill(() => Promise.resolve(identified), 20);
  console.log(filled.items[0]?.title, filled.done, after.next?.toFixed(), next, ofList.items[0]?.id);
  console.log(visible.length, visibleIds.length, added.length, addedIdentified.length, more.items[0]?.id);
  feed.reset();
}

function showResult(result: ApplyResult): void {
  const covered: number = result.covered;
  const reason: string | undefined = result.reason;
  const error: SeenGuardError | undefined = result.error;
  if (!result.applied) console.log(reason, error?.code, covered);
}

function explain(explanation: Explanation): string {
  if (!explanation.seen) return "fresh";
  const by: "pending" | "device" | "server" = explanation.by;
  return `${by} ${explanation.at?.toISOString() ?? ""}`;
}

function showStats(stats: GuardStats): void {
  const engine: string = stats.engine;
  const storage: "indexeddb" | "local" | "custom" | "none" | "unavailable" | "full" = stats.storage;
  const version: number | undefined = stats.version;
  const rate: number = stats.serverFalsePositiveRate;
  const counts: number[] = [stats.pending, stats.undelivered, stats.remembered, stats.failingSince ?? 0];
  console.log(engine, storage, version, rate, counts);
}

export function isOurs(error: unknown): error is SeenGuardError {
  return error instanceof SeenGuardError && error instanceof Error;
}
