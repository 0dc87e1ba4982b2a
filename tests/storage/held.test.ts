/** The snapshot in use across visits: its stored form, and faulty storage. */
import { SeenGuard } from "seenguard";
import type { SeenStorage, Snapshot } from "seenguard";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { fakeTimers } from "../support/clocks.js";
import { ShardChain } from "seenguard/server";
import { xxh64 } from "../support/shards.js";
import {
  DAY_MS,
  heldBy,
  idsOf,
  MapStorage,
  newPage,
  NOW,
  type OpenedGuard,
  openGuard,
  shippedSnapshot,
  uniqueNamespace,
} from "../support/node.js";

/** A server's snapshot, whose shards are single strings. */
type Shipped = Omit<Snapshot, "shards"> & { shards: string[] };

/** The name of a shard in `Seen-Held`. */
function nameOf(text: string): string {
  return xxh64(new TextEncoder().encode(text)).toString(16).padStart(16, "0").slice(0, 12);
}

/** The value of `Seen-Held` for these shards. */
function namesOf(shards: readonly string[]): string {
  return shards.map(nameOf).join(".");
}

/** A server's snapshot for a device that holds shards. */
function withoutHeld(snapshot: Shipped, held: string): Shipped {
  const names = held.split(".");
  const shorten = (text: string) => (names.includes(nameOf(text)) ? `~${nameOf(text)}` : text);
  return { ...snapshot, shards: snapshot.shards.map(shorten) };
}

/** Five shards of ten ids each, and the ids, those of the newest shard first. */
async function fiveShards(prefix = "seen"): Promise<{ snapshot: Shipped; ids: string[][] }> {
  const ids = Array.from({ length: 5 }, (_, shard) => idsOf(`${prefix}-${String(shard)}`, 10));
  const snapshot = await shippedSnapshot(ids.flat(), { capacity: 10, shards: 5 });
  return { snapshot, ids: ids.toReversed() };
}

/** Opens a guard in a page of its own. */
function visit(storage: SeenStorage, namespace: string): Promise<OpenedGuard> {
  return openGuard({ storage, namespace }, newPage());
}

/** A visit that applies a snapshot and ends. */
async function visitWith(storage: SeenStorage, namespace: string, snapshot: Snapshot): Promise<void> {
  const { guard, errors } = await visit(storage, namespace);
  expect(guard.apply(snapshot)).toMatchObject({ applied: true });
  await guard.close();
  expect(errors).toEqual([]);
}

/** The keys of stored snapshots: there is one at most. */
function keysIn(storage: Pick<MapStorage, "values">): string[] {
  return [...storage.values.keys()].filter((key) => key.endsWith("/h"));
}

/** The shards of the stored snapshot, which is JSON. */
function shardsIn({ values }: Pick<MapStorage, "values">): string[] {
  const [key = ""] = keysIn({ values });
  const { snapshot } = JSON.parse(values.get(key) ?? "") as { snapshot: { shards: string[] } };
  return snapshot.shards;
}

/** Lists the calls of a storage. */
function countRequests(storage: MapStorage): { operation: string; key: string }[] {
  const requests: { operation: string; key: string }[] = [];
  storage.before = (operation, key) => requests.push({ operation, key });
  return requests;
}

describe("a visit on the next day", () => {
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["Date"], now: NOW * 1000 });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  test("i2: holds the previous visit's snapshot, and filters by it before any response", async () => {
    const [storage, namespace] = [new MapStorage(), uniqueNamespace()];
    const { snapshot, ids } = await fiveShards();
    await visitWith(storage, namespace, snapshot);
    vi.setSystemTime(NOW * 1000 + DAY_MS);
    const { guard, errors } = await visit(storage, namespace);
    expect(heldBy(guard)).toBe(namesOf(snapshot.shards));
    expect(guard.filter([...ids.flat(), "new"])).toEqual(["new"]);
    expect(guard.explain(ids[1]?.[0] ?? "")).toEqual({ seen: true, by: "server" });
    expect(errors).toEqual([]);
  });

  test("applies a first response with references and new shards", async () => {
    const [storage, namespace] = [new MapStorage(), uniqueNamespace()];
    const { snapshot, ids } = await fiveShards();
    await visitWith(storage, namespace, snapshot);
    vi.setSystemTime(NOW * 1000 + DAY_MS);
    const chain = await ShardChain.from(snapshot.shards, { capacity: 10, shards: 5 });
    onTestFinished(() => chain.free());
    chain.record("seen elsewhere", { now: NOW + 60 });
    const { guard, errors } = await visit(storage, namespace);
    const response = withoutHeld(chain.snapshot({ now: NOW + 60 }), heldBy(guard));
    expect(response.shards.filter((shard) => !shard.startsWith("~"))).toHaveLength(1);
    expect(guard.apply(response)).toMatchObject({ applied: true });
    expect(guard.filter([...ids.slice(0, 4).flat(), "seen elsewhere", "new"])).toEqual(["new"]);
    expect(errors).toEqual([]);
  });

  test("i2: accepts a server whose own counter has restarted", async () => {
    const [storage, namespace] = [new MapStorage(), uniqueNamespace()];
    const { snapshot } = await fiveShards();
    await visitWith(storage, namespace, { ...snapshot, version: 1_000_000 });
    const { guard } = await visit(storage, namespace);
    expect(guard.stats().version).toBeUndefined();
    expect(guard.apply({ ...withoutHeld(snapshot, heldBy(guard)), version: 1 })).toMatchObject({ applied: true });
  });

  test("i2: lets ids pass that are unseen on the server, and stops them when the server does", async () => {
    const [storage, namespace] = [new MapStorage(), uniqueNamespace()];
    const { snapshot, ids } = await fiveShards("新闻");
    const [back = "", ...stopped] = ids.flat();
    await visitWith(storage, namespace, { ...snapshot, unseen: [{ id: back, at: NOW * 1000 }] });
    for (let again = 0; again < 2; again++) {
      const { guard } = await visit(storage, namespace);
      expect(guard.filter([back, ...stopped])).toEqual([back]);
      await guard.close();
    }
    const { guard } = await visit(storage, namespace);
    guard.apply(withoutHeld(snapshot, heldBy(guard)));
    expect(guard.filter([back])).toEqual([]);
  });
});

describe("the stored snapshot", () => {
  test("after 20 refreshes in five minutes was written a minute after the first, and at the end", async () => {
    fakeTimers({ toFake: ["Date", "performance", "setTimeout", "clearTimeout"], now: NOW * 1000 });
    const [storage, namespace] = [new MapStorage(), uniqueNamespace()];
    const { guard, errors } = await openGuard({ storage, namespace });
    const requests = countRequests(storage);
    const snapshots: Shipped[] = await Promise.all(idsOf("id", 20).map((id) => shippedSnapshot([id])));
    for (const { shards } of snapshots) {
      guard.apply({ shards });
      await vi.advanceTimersByTimeAsync(15_000);
    }
    const written = () => requests.filter(({ operation, key }) => operation === "set" && key.endsWith("/h")).length;
    expect(written()).toBe(1);
    expect(shardsIn(storage)).toEqual(snapshots[3]?.shards);
    guard.apply({ shards: snapshots[0]?.shards ?? [] });
    await guard.close();
    expect(written()).toBe(2);
    const next = await openGuard({ storage, namespace });
    expect(heldBy(next.guard)).toBe(namesOf(snapshots[0]?.shards ?? []));
    expect([...errors, ...next.errors]).toEqual([]);
  });

  test("covers impressions whose rows are listed after it and do not have that yet", async () => {
    const [storage, namespace] = [new MapStorage(), uniqueNamespace()];
    const { snapshot, ids } = await fiveShards();
    const { guard } = await openGuard({ storage, namespace });
    guard.record(ids.flat());
    await guard.flush();
    const rows = [...storage.values];
    guard.apply(snapshot);
    await guard.close();
    const next = new MapStorage();
    for (const key of keysIn(storage)) next.values.set(key, storage.values.get(key) ?? "");
    for (const [key, row] of rows) next.values.set(key, row);
    expect([...next.values.keys()].findIndex((key) => key.endsWith("/h"))).toBe(0);
    const { guard: later } = await visit(next, namespace);
    expect(later.pending()).toEqual([]);
    expect(later.filter(ids.flat())).toEqual([]);
  });

  test("is one ASCII value with the shards as received, though an id is not ASCII", async () => {
    const [storage, namespace] = [new MapStorage(), uniqueNamespace()];
    const { snapshot } = await fiveShards();
    await visitWith(storage, namespace, { ...snapshot, unseen: [{ id: "新闻", at: NOW * 1000 }] });
    for (const [key, value] of storage.values) expect(key + value).toMatch(/^[\n\x20-\x7e]*$/);
    expect(shardsIn(storage)).toEqual(snapshot.shards);
    const next = await visit(storage, namespace);
    expect(next.guard.filter(["新闻"])).toEqual(["新闻"]);
    expect(heldBy(next.guard)).toBe(namesOf(snapshot.shards));
  });

  test("i7: is not written with 513 KB, and the previous one is removed", async () => {
    const [storage, namespace] = [new MapStorage(), uniqueNamespace()];
    const shardsOf = async (capacity: number): Promise<{ shards: string[]; kilobytes: number }> => {
      const { shards }: Shipped = await shippedSnapshot(idsOf("id", 3 * capacity), { capacity, shards: 3 });
      return { shards, kilobytes: shards.join("").length / 1024 };
    };
    const [fits, tooLong] = [await shardsOf(72_850), await shardsOf(73_100)];
    expect([Math.floor(fits.kilobytes), Math.floor(tooLong.kilobytes)]).toEqual([511, 513]);
    await visitWith(storage, namespace, fits);
    expect(keysIn(storage)).toHaveLength(1);
    await visitWith(storage, namespace, tooLong);
    expect(keysIn(storage)).toEqual([]);
    const next = await visit(storage, namespace);
    expect(heldBy(next.guard)).toBe("");
    expect(next.guard.apply(fits)).toMatchObject({ applied: true });
    await next.guard.close();
    const last = await visit(storage, namespace);
    expect(heldBy(last.guard)).toBe(namesOf(fits.shards));
    expect([...next.errors, ...last.errors]).toEqual([]);
  });

  test("is that of the tab that wrote last, and each tab still uses its own", async () => {
    const [storage, namespace] = [new MapStorage(), uniqueNamespace()];
    const snapshots = [(await fiveShards("one")).snapshot, (await fiveShards("two")).snapshot];
    const tabs = [await visit(storage, namespace), await visit(storage, namespace)];
    for (const [index, { guard }] of tabs.entries()) {
      guard.apply(snapshots[index] ?? null);
      await guard.flush();
    }
    const names = snapshots.map(({ shards }) => namesOf(shards));
    expect(tabs.map(({ guard }) => heldBy(guard))).toEqual(names);
    expect(heldBy((await visit(storage, namespace)).guard)).toBe(names[1]);
  });

  test("does not exist without a storage, and the next visit holds nothing", async () => {
    const namespace = uniqueNamespace();
    const { snapshot } = await fiveShards();
    const { guard } = await openGuard({ namespace });
    guard.apply(snapshot);
    expect(heldBy(guard)).toBe(namesOf(snapshot.shards));
    await guard.close();
    const next = await openGuard({ namespace });
    expect(heldBy(next.guard)).toBe("");
    expect(next.errors).toEqual([]);
  });
});

describe("storage that lost", () => {
  /** A visit has stored five shards. */
  async function stored() {
    const [storage, namespace] = [new MapStorage(), uniqueNamespace()];
    const { snapshot, ids } = await fiveShards();
    await visitWith(storage, namespace, snapshot);
    const [key = ""] = keysIn(storage);
    return { storage, namespace, snapshot, ids, key };
  }

  /** Applies a server's next snapshot, and expects a normal next visit. */
  async function expectRecovery(
    guard: SeenGuard,
    { storage, namespace, snapshot, ids }: Awaited<ReturnType<typeof stored>>,
  ) {
    expect(guard.apply(withoutHeld(snapshot, heldBy(guard)))).toMatchObject({ applied: true });
    expect(guard.filter([...ids.flat(), "new"])).toEqual(["new"]);
    await guard.close();
    const next = await visit(storage, namespace);
    expect(heldBy(next.guard)).toBe(namesOf(snapshot.shards));
    expect(next.errors).toEqual([]);
  }

  test("i2: everything that it had holds nothing", async () => {
    const state = await stored();
    const { storage, namespace } = state;
    storage.values.clear();
    const { guard, errors } = await visit(storage, namespace);
    expect(heldBy(guard)).toBe("");
    await expectRecovery(guard, state);
    expect(errors).toEqual([]);
  });
});

describe("a storage that is full", () => {
  /** A storage with this capacity, keys and values together. */
  class SmallStorage extends MapStorage {
    room = Infinity;

    override set(key: string, value: string): void {
      const grows = value.length - (this.values.get(key)?.length ?? -key.length);
      if (this.size + grows > this.room) throw new DOMException("no room", "QuotaExceededError");
      super.set(key, value);
    }
  }

  test("i6: of shards removes them for impressions", async () => {
    const [storage, namespace] = [new SmallStorage(), uniqueNamespace()];
    const snapshot = await shippedSnapshot(idsOf("seen", 500), { capacity: 100, shards: 5 });
    await visitWith(storage, namespace, snapshot);
    storage.room = storage.size + 50;
    const { guard, errors } = await visit(storage, namespace);
    guard.record(idsOf("an impression that takes some room", 20));
    await guard.close();
    expect(errors).toEqual([]);
    expect(keysIn(storage)).toEqual([]);
    const next = await visit(storage, namespace);
    expect(next.guard.filter(idsOf("an impression that takes some room", 20))).toEqual([]);
    expect(heldBy(next.guard)).toBe("");
    // Both fit again.
    storage.room = Infinity;
    next.guard.apply(snapshot);
    await next.guard.close();
    expect(heldBy((await visit(storage, namespace)).guard)).toBe(namesOf(snapshot.shards));
  });
});
