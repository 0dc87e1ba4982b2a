/** Every public function with valid arguments, of which a program changes parts. */
import { SeenGuard, type Feed, type FeedPage, type SeenStorage } from "seenguard";
import { SeenGuard as SeenGuardWithFormats } from "seenguard/formats";
import { NearDuplicates, simhash } from "seenguard/near-duplicates";
import * as server from "seenguard/server";
import { openTestGuard } from "seenguard/testing";
import { fallback, MapStorage, NOW, ON_ENGINE, uniqueNamespace } from "../../support/node.js";

/** The objects that the calls of one program are made on. */
export interface Scene {
  readonly guard: Awaited<ReturnType<typeof openTestGuard>>;
  readonly feed: Feed;
  readonly chain: server.ShardChain;
  readonly near: NearDuplicates;
  readonly store: server.SeenStore;
  /** Registers what a call has opened, so that it is closed at the program's end. */
  readonly opened: (guard: SeenGuard) => void;
}

export interface Call {
  /** Valid arguments. */
  readonly arguments: () => readonly unknown[];
  readonly run: (scene: Scene, ...given: never[]) => unknown;
  /** Whether it has options, which may be refused. A function without options never throws. */
  readonly refuses?: true;
}

type Anything = never;

const items = () => [{ id: "a" }, { id: 7 }, { id: 8n }, { id: ["b", "c"] }, {}];
const ids = () => ["a", 7, 8n, "b"];
const idOf = ({ id }: { id?: unknown }) => id;
const impressions = () => [
  { id: "a", at: NOW * 1000 },
  { id: "b", at: NOW * 1000 + 1 },
];
const report = () => ({ namespace: "home", now: NOW * 1000, impressions: impressions(), unseen: impressions() });
const received = () => ({ ...report(), receivedAt: NOW * 1000, pending: device() });
/** What a device sends as `Seen-Pending`. */
const device = () => "0123456789ab.1.0.Dn4SjG5b";
/** A shard for 1,000 items that contains one. */
let shard = "";
export function setShard(encoded: string): void {
  shard = encoded;
}
const snapshot = (): object => ({
  ...{ version: 1, shards: [shard, shard], now: NOW, forgetBefore: NOW - 1000 },
  unseen: impressions(),
});
const formats = ["seenguard", "guava", "redisbloom", { kind: "go-bloomfilter", hashes: 7 }];
const storage = (): SeenStorage => {
  const store = new MapStorage();
  return {
    get: (key) => store.get(key),
    set: (key, value) => store.set(key, value),
    remove: (key) => store.remove(key),
    keys: () => store.keys(),
  };
};
const guardOptions = () => ({
  ...{ namespace: uniqueNamespace(), storage: storage(), windowDays: 30, remember: 100, fallback, ...ON_ENGINE },
  ...{ onError: () => {}, onLag: () => {} },
});
const chainOptions = () => ({
  ...{ capacity: 100, shards: 3, falsePositiveRate: 0.01, seed: 7n, ttlSeconds: 86_400 },
  format: { kind: "go-bloomfilter", hashes: 5 },
});
const storeOptions = () => ({ onError: () => {}, pendingSeconds: 1000 });
const pages = () => [{ items: items(), snapshot: snapshot(), next: "1" }, null];
const signal = () => new AbortController().signal;

const guardCalls: Record<string, Call> = {
  "SeenGuard.open": {
    refuses: true,
    arguments: () => [guardOptions()],
    run: async (scene, options: Anything) => scene.opened(await SeenGuard.open(options)),
  },
  "SeenGuard.open of seenguard/formats": {
    refuses: true,
    arguments: () => [{ ...guardOptions(), storage: "none" }, ...formats.map((format) => ({ ...snapshot(), format }))],
    run: async (scene, options: Anything, ...snapshots: Anything[]) => {
      const guard = await SeenGuardWithFormats.open(options);
      scene.opened(guard);
      return snapshots.map((snapshot) => guard.apply(snapshot));
    },
  },
  "SeenGuard.clear": {
    refuses: true,
    arguments: () => ["a namespace", storage()],
    run: (_, namespace: Anything, storage: Anything) => SeenGuard.clear(namespace, storage),
  },
  "SeenGuard.signOut": {
    refuses: true,
    arguments: () => ["a namespace", { timeoutMs: 10, storage: storage() }],
    run: (_, namespace: Anything, options: Anything) => SeenGuard.signOut(namespace, options),
  },
  openTestGuard: {
    refuses: true,
    arguments: () => [{ ...guardOptions(), storage: "none", now: NOW * 1000 }],
    run: async (scene, options: Anything) => scene.opened(await openTestGuard(options)),
  },
  advance: { refuses: true, arguments: () => [1000], run: ({ guard }, ms: Anything) => guard.advance(ms) },
  apply: { arguments: () => [snapshot()], run: ({ guard }, snapshot: Anything) => guard.apply(snapshot) },
  filter: {
    arguments: () => [items(), idOf],
    run: ({ guard }, items: Anything, idOf: Anything) => guard.filter(items, idOf),
  },
  split: {
    arguments: () => [items(), idOf],
    run: ({ guard }, items: Anything, idOf: Anything) => guard.split(items, idOf),
  },
  explain: { arguments: () => ["a"], run: ({ guard }, id: Anything) => guard.explain(id) },
  record: { arguments: () => [ids()], run: ({ guard }, ids: Anything) => guard.record(ids) },
  unsee: { arguments: () => [ids()], run: ({ guard }, ids: Anything) => guard.unsee(ids) },
  pending: { arguments: () => [10], run: ({ guard }, limit: Anything) => guard.pending(limit) },
  observe: {
    refuses: true,
    arguments: () => [{}, { attribute: "data-id", threshold: 0.5, dwellMs: 10 }],
    run: ({ guard }, root: Anything, options: Anything) => guard.observe(root, options)(),
  },
  observeItem: {
    refuses: true,
    arguments: () => [{}, ids(), { threshold: 0.5, dwellMs: 10 }],
    run: ({ guard }, element: Anything, id: Anything, options: Anything) => guard.observeItem(element, id, options)(),
  },
  subscribe: { arguments: () => [() => {}], run: ({ guard }, listener: Anything) => guard.subscribe(listener)() },
  "report and deliver": {
    refuses: true,
    arguments: () => [{ url: "/seen", headers: {}, intervalMs: 1000, send: () => Promise.resolve() }, 100],
    run: async ({ guard }, options: Anything, timeoutMs: Anything) => {
      guard.record(["to be delivered"]);
      const stop = guard.report(options);
      try {
        return await guard.deliver({ timeoutMs });
      } finally {
        stop();
      }
    },
  },
  feed: {
    refuses: true,
    arguments: () => [{ key: "list" }],
    run: ({ guard }, options: Anything) => guard.feed(options).filter(["a", "b"]),
  },
};

const feedCalls: Record<string, Call> = {
  "Feed.filter": {
    arguments: () => [items(), idOf],
    run: ({ feed }, items: Anything, idOf: Anything) => feed.filter(items, idOf),
  },
  "Feed.admit": {
    arguments: () => [items(), idOf],
    run: ({ feed }, items: Anything, idOf: Anything) => feed.admit(items, idOf),
  },
  "Feed.fill": {
    refuses: true,
    arguments: () => [pages(), 3, { id: idOf, maxPages: 3, timeoutMs: 1000, signal: signal() }],
    run: async ({ feed }, pages: Anything, want: Anything, options: Anything) => {
      let page = 0;
      const fetchPage = () => Promise.resolve((pages as FeedPage<string>[])[page++] ?? null);
      const result = await feed.fill(fetchPage, want, options);
      // However it went, the next one begins again.
      feed.reset();
      const again = await feed.fill(() => Promise.resolve({ items: ["another"] }), 1);
      if (again.end !== "filled") throw new Error(`after a fill that has ended the next one is ${again.end}`);
      return result;
    },
  },
  "Feed.fill by a strange function": {
    refuses: true,
    arguments: () => [() => null, 3],
    run: ({ feed }, fetchPage: Anything, want: Anything) => feed.fill(fetchPage, want),
  },
};

const chainCalls: Record<string, Call> = {
  "ShardChain.create": {
    refuses: true,
    arguments: () => [chainOptions()],
    run: async (_, options: Anything) => (await server.ShardChain.create(options)).free(),
  },
  "ShardChain.from": {
    refuses: true,
    arguments: () => [snapshot(), { capacity: 100 }],
    run: async (_, stored: Anything, options: Anything) => (await server.ShardChain.from(stored, options)).free(),
  },
  "ShardChain.record": {
    refuses: true,
    arguments: () => [ids(), { now: NOW }],
    run: ({ chain }, ids: Anything, options: Anything) => chain.record(ids, options),
  },
  "ShardChain.ingest": {
    refuses: true,
    arguments: () => [received()],
    run: ({ chain }, report: Anything) => chain.ingest(report),
  },
  "ShardChain.unsee": {
    refuses: true,
    arguments: () => [ids(), { now: NOW }],
    run: ({ chain }, ids: Anything, options: Anything) => chain.unsee(ids, options),
  },
  "ShardChain.forget": {
    refuses: true,
    arguments: () => [{ now: NOW }],
    run: ({ chain }, options: Anything) => chain.forget(options),
  },
  "ShardChain.has": {
    refuses: true,
    arguments: () => ["a", { now: NOW }],
    run: ({ chain }, id: Anything, options: Anything) => chain.has(id, options),
  },
  "ShardChain.filter": {
    refuses: true,
    arguments: () => [items(), { now: NOW, id: idOf, pending: device() }],
    run: ({ chain }, items: Anything, options: Anything) => chain.filter(items, options),
  },
  "ShardChain.snapshot": {
    refuses: true,
    arguments: () => [{ now: NOW, held: "000000000000.111111111111" }],
    run: ({ chain }, options: Anything) => chain.snapshot(options),
  },
};

const serverCalls: Record<string, Call> = {
  parseReport: {
    refuses: true,
    arguments: () => [report(), { now: NOW }],
    run: (_, body: Anything, options: Anything) => server.parseReport(body, options),
  },
  seenOf: {
    arguments: () => [
      {
        headers: { "seen-held": "000000000000" },
        url: `/?Seen-Pending=${device()}`,
        query: { "Seen-Pending": device() },
      },
    ],
    run: (_, request: Anything) => server.seenOf(request),
  },
  simhash: {
    refuses: true,
    arguments: () => [["a", ["b", 2], "c"]],
    run: (_, features: Anything) => simhash(features),
  },
  "NearDuplicates.create": {
    refuses: true,
    arguments: () => [{ distance: 2 }],
    run: async (_, options: Anything) => (await NearDuplicates.create(options)).free(),
  },
  "NearDuplicates.groupOf": {
    refuses: true,
    arguments: () => ["0123456789abcdef", "a"],
    run: ({ near }, fingerprint: Anything, id: Anything) => near.groupOf(fingerprint, id),
  },
  plan: {
    refuses: true,
    arguments: () => [{ perDay: 300, windowDays: 30, falsePositiveRate: 0.01, perRefresh: 10 }],
    run: (_, options: Anything) => server.plan(options),
  },
  pageOf: {
    refuses: true,
    arguments: () => [
      items(),
      { size: 2, cursor: "1.a", held: "000000000000", pending: device(), repeats: "last", now: NOW, id: idOf },
    ],
    run: ({ chain }, ranked: Anything, options: Anything) => server.pageOf(chain, ranked, options),
  },
  "pageOf of a strange chain": {
    refuses: true,
    arguments: () => [{}],
    run: (_, chain: Anything) => server.pageOf(chain, ["a"], { size: 1 }),
  },
  memoryStore: {
    refuses: true,
    arguments: () => [{ ...chainOptions(), ...storeOptions() }, "user"],
    run: async (_, options: Anything, user: Anything) => (await server.memoryStore(options).read(user)).free(),
  },
  "SeenStore.update": {
    refuses: true,
    arguments: () => ["user", ids()],
    run: ({ store }, user: Anything, ids: Anything) => store.update(user, (chain) => chain.record(ids)),
  },
  "SeenStore.page": {
    refuses: true,
    arguments: () => [
      "user",
      items(),
      { size: 2, cursor: "1.a", held: "000000000000", pending: device(), repeats: "last", id: idOf },
    ],
    run: ({ store }, user: Anything, ranked: Anything, options: Anything) => store.page(user, ranked, options),
  },
  "SeenStore.accept": {
    refuses: true,
    arguments: () => ["user", received()],
    run: ({ store }, user: Anything, body: Anything) => store.accept(user, body),
  },
  "SeenStore.ingest": {
    refuses: true,
    arguments: () => ["user", received()],
    run: ({ store }, user: Anything, report: Anything) => store.ingest(user, report),
  },
  "SeenStore.unsee": {
    refuses: true,
    arguments: () => ["user", ids()],
    run: ({ store }, user: Anything, ids: Anything) => store.unsee(user, ids),
  },
  "SeenStore.forget": {
    refuses: true,
    arguments: () => ["user"],
    run: ({ store }, user: Anything) => store.forget(user),
  },
  "SeenStore.update by a strange function": {
    refuses: true,
    arguments: () => ["user", "no function"],
    // What the app's own function throws passes through.
    run: ({ store }, user: Anything, change: Anything) =>
      typeof change === "function" ? undefined : store.update(user, change),
  },
  redisStore: {
    refuses: true,
    arguments: () => [
      { evalsha: () => Promise.resolve([[], []]) },
      { prefix: "seen:", capacity: 100, ...storeOptions() },
    ],
    run: (_, client: Anything, options: Anything) => void server.redisStore(client, options),
  },
};

/** By the function's name. */
export const calls: Readonly<Record<string, Call>> = { ...guardCalls, ...feedCalls, ...chainCalls, ...serverCalls };
