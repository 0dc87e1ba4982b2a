/** The same for the server's entry. It compiles without the DOM's types. */
import {
  SeenGuardError,
  ShardChain,
  keepPending,
  memoryBackend,
  memoryStore,
  pageOf,
  parseReport,
  plan,
  redisBackend,
  redisStore,
  seenOf,
  seenStore,
  type Backend,
  type ChainOptions,
  type ErrorCode,
  type IdOf,
  type Impression,
  type ItemId,
  type Loaded,
  type Page,
  type PageOptions,
  type PendingToKeep,
  type ReceivedReport,
  type Replacement,
  type Report,
  type SeenStore,
  type ShardFormat,
  type Snapshot,
  type StoredChain,
  type StoreOptions,
} from "seenguard/server";

interface Post {
  readonly key: number;
}

const ids: readonly ItemId[] = ["a", 1, 2n];
const posts: readonly Post[] = [{ key: 1 }];
const identified: readonly { readonly id: string }[] = [{ id: "a" }];
const keyOf: IdOf<Post> = ({ key }) => key;
const format: ShardFormat = "seenguard";
const now = 1_764_000_000;

export async function consume(stored: Snapshot, body: Report): Promise<Snapshot> {
  const chain = await ShardChain.from(stored);
  const unseen: Impression[] = [{ id: "a", at: now * 1000 }];
  const report: ReceivedReport = {
    namespace: "home:ada",
    receivedAt: now * 1000,
    impressions: [],
    unseen,
    pending: "",
  };
  const unknown: number = chain.ingest(parseReport(body)) + chain.ingest(report);
  chain.unsee(ids, { now });
  chain.unsee("a");
  if (unknown > 1000) chain.forget();
  if (unknown > 2000) chain.forget({ now });
  return chain.snapshot();
}

export async function serve(stored: readonly string[], held: string | null): Promise<Snapshot> {
  const options: ChainOptions = {
    capacity: 1000,
    shards: 5,
    falsePositiveRate: 0.001,
    seed: 0,
    ttlSeconds: 86_400,
    format,
  };
  const chain: ShardChain = await ShardChain.from(stored, options);
  const rejected: readonly { index: number; reason: string }[] = chain.rejected;
  const codes = chain.rejected.map(({ index, reason }) => `${index.toFixed()}: ${reason}`);
  const unknown: number = chain.record(ids, { now }) + chain.record("a");
  const seen: boolean = chain.has(1, { now }) || chain.has("a");
  const fresh: Post[] = chain.filter(posts, { id: keyOf, pending: held, now });
  const freshIds: ItemId[] = chain.filter(ids, { pending: held, now });
  const freshItems: { readonly id: string }[] = chain.filter(identified);
  if (fresh.length > freshIds.length) return chain.snapshot({ now, held });
  if (seen || codes.length + rejected.length + unknown + fresh.length + freshIds.length + freshItems.length > 0)
    chain.free();

  const shards: string[] = chain.snapshot({ now }).shards;
  const go = await ShardChain.from(shards, { format: { kind: "go-bloomfilter" } });
  const again = await ShardChain.from(go.snapshot());
  again.free();
  return (await ShardChain.create()).snapshot();
}

export async function route(client: object, user: string, body: unknown, cursor: string | null): Promise<Page<Post>> {
  const report: ReceivedReport = parseReport(body, { now });
  const { receivedAt, impressions, unseen, pending, forgotten = false } = report;
  const storeOptions: StoreOptions = {
    namespaceOf: (user) => `home:${user}`,
    onError: (error: SeenGuardError) => {
      const code: ErrorCode = error.code;
      if (code === "engine") throw new Error(code);
    },
    patienceMs: 200,
    deadlineMs: 2_000,
    pendingSeconds: receivedAt + impressions.length + unseen.length + (pending?.length ?? 0),
  };
  const store: SeenStore =
    report.namespace === "" ? memoryStore({ ...storeOptions, shards: 2 }) : redisStore(client, { prefix: "seen:" });
  const redis: Backend = redisBackend(client, { prefix: "seen:" });
  const own: Backend = {
    async load(user, told?: PendingToKeep): Promise<Loaded> {
      const { stored, revision, kept, now, refusal } = await redis.load(user, told);
      const { shards, fields }: StoredChain = stored ?? { shards: [], fields: [] };
      const lines = told && keepPending(kept, { text: told.text, at: told.at, lifeSeconds: told.lifeSeconds });
      return { stored: { shards, fields }, revision, kept: lines ?? kept, ...(now && { now }), refusal };
    },
    keep: (user, told) => redis.keep(user, told),
    replace: (user, { revision, before, after, lifeSeconds }: Replacement) =>
      redis.replace(user, { revision, before, after, lifeSeconds }),
    forget: (user, replacement) => redis.forget(user, replacement),
  };
  const overOwn: SeenStore = seenStore(pending === undefined ? own : memoryBackend(), { clock: () => now });
  await overOwn.update(user, (chain, at) => chain.record(ids, { now: at }));
  const unknown: number = await store.update(user, (chain) => chain.ingest(parseReport(body)));
  const received: ReceivedReport = await store.accept(user, body);
  const taken: number = await store.ingest(user, await store.accept(user, received));
  await store.unsee(user, ids);
  await store.unsee(user, "a");
  if (taken > 0 && !forgotten) await store.forget(user);
  const said = seenOf(body);
  const [held, shown]: (string | undefined)[] = [said.held, said.pending];
  if (held !== shown) return store.page(user, posts, { size: 10, id: keyOf, ...seenOf(body) });
  const ofStore: Page<{ readonly id: string }> = await store.page(user, identified, { size: 10, cursor });
  const known: Snapshot | undefined = ofStore.snapshot;
  const degraded: true | undefined = ofStore.degraded;
  if (ofStore.next === null && (degraded ?? known === undefined)) redisStore(client);
  const chain: ShardChain = await store.read(user);
  const options: PageOptions = { size: 10, cursor, held: null, pending: null, repeats: "last", now };
  const { items, next, snapshot } = pageOf(chain, identified, options);
  const shipped: Snapshot = snapshot;
  const last: string | null = next;
  const first: { readonly id: string } | undefined = items[0];
  if (unknown > shipped.shards.length && last !== null && first !== undefined) memoryStore();
  const ofPosts = pageOf(chain, posts, { size: 10, id: keyOf });
  if (ofPosts.snapshot.shards.length > taken) chain.free();
  return ofPosts;
}

export function isOurs(error: unknown): error is SeenGuardError {
  return error instanceof SeenGuardError && error.code === "bad-option";
}

export function budget(users: number): string {
  const { capacity, shards, falsePositiveRate, ttlSeconds, ...bytes } = plan({
    perDay: 200,
    windowDays: 30,
    falsePositiveRate: 0.005,
  });
  const options: ChainOptions = { capacity, shards, falsePositiveRate, ttlSeconds };
  const { bytesStored, bytesFirstPage, bytesRefresh } = bytes;
  const often = plan({ perDay: 200, windowDays: 30, falsePositiveRate: 0.005, perRefresh: 2 }).bytesRefresh;
  return [JSON.stringify(options), users * bytesStored, bytesFirstPage, bytesRefresh - often].join();
}
