/** The snapshot in use across visits: what a storage keeps of it, and what is held when the storage misbehaves. */
import { SeenGuard } from "seenguard";
import type { SeenStorage, Snapshot } from "seenguard";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { ShardChain } from "seenguard/server";
import { xxh64 } from "./shards.js";
import {
  DAY_MS,
  GatedStorage,
  heldBy,
  idsOf,
  MapStorage,
  newPage,
  NOW,
  type OpenedGuard,
  openGuard,
  settled,
  shippedSnapshot,
  uniqueNamespace,
} from "./support.js";

/** A snapshot as a server ships it, without shards of several texts. */
type Shipped = Omit<Snapshot, "shards"> & { shards: string[] };

/** The name that a shard is held by. */
function nameOf(text: string): string {
  return xxh64(new TextEncoder().encode(text)).toString(16).padStart(16, "0").slice(0, 12);
}

/** What `held` says of these shards. */
function namesOf(shards: readonly string[]): string {
  return shards.map(nameOf).join(".");
}

/** A snapshot as a server ships it to a device that holds shards. */
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

/** The shards of the stored snapshot: it is a checksum and JSON. */
function shardsIn({ values }: Pick<MapStorage, "values">): string[] {
  const [key = ""] = keysIn({ values });
  const { snapshot } = JSON.parse(values.get(key)?.slice(8) ?? "") as { snapshot: { shards: string[] } };
  return snapshot.shards;
}

/** Counts what a storage is asked for. */
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

  test("stops by no shard that has expired meanwhile", async () => {
    const [storage, namespace] = [new MapStorage(), uniqueNamespace()];
    const snapshot = await shippedSnapshot(["a"], { shards: 1, ttlSeconds: DAY_MS / 1000 });
    await visitWith(storage, namespace, snapshot);
    vi.setSystemTime(NOW * 1000 + DAY_MS);
    const next = await visit(storage, namespace);
    expect(next.guard.filter(["a"])).toEqual([]);
    await next.guard.close();
    vi.setSystemTime(NOW * 1000 + 3 * DAY_MS);
    const late = await visit(storage, namespace);
    expect(late.guard.filter(["a"])).toEqual(["a"]);
  });

  test("holds nothing of a snapshot that was replaced by an empty one", async () => {
    const [storage, namespace] = [new MapStorage(), uniqueNamespace()];
    await visitWith(storage, namespace, (await fiveShards()).snapshot);
    await visitWith(storage, namespace, { shards: [] });
    const { guard, errors } = await visit(storage, namespace);
    expect(heldBy(guard)).toBe("");
    expect(shardsIn(storage)).toEqual([]);
    expect(errors).toEqual([]);
  });
});

describe("the stored snapshot", () => {
  test("of 20 refreshes in five minutes is the one of a minute after the first, and the last one at the end", async () => {
    vi.useFakeTimers({ toFake: ["Date", "performance", "setTimeout", "clearTimeout"], now: NOW * 1000 });
    try {
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
    } finally {
      vi.useRealTimers();
    }
  });

  test("of several snapshots in a row is the last one", async () => {
    const [storage, namespace] = [new MapStorage(), uniqueNamespace()];
    const { guard } = await visit(storage, namespace);
    const requests = countRequests(storage);
    const snapshots: Shipped[] = await Promise.all(idsOf("id", 5).map((id) => shippedSnapshot([id])));
    for (const { shards } of snapshots) guard.apply({ shards });
    await guard.flush();
    expect(requests.filter(({ operation, key }) => operation === "set" && key.endsWith("/h"))).toHaveLength(1);
    expect(heldBy((await visit(storage, namespace)).guard)).toBe(namesOf(snapshots.at(-1)?.shards ?? []));
  });

  test("is nothing of one that came too late to be taken", async () => {
    const [storage, namespace] = [new MapStorage(), uniqueNamespace()];
    const [{ snapshot, ids }, late] = [await fiveShards(), await fiveShards("late")];
    const { guard } = await visit(storage, namespace);
    guard.apply({ ...snapshot, version: 2 });
    expect(guard.apply({ ...late.snapshot, version: 1 })).toMatchObject({ applied: false });
    await guard.close();
    const next = await visit(storage, namespace);
    expect(heldBy(next.guard)).toBe(namesOf(snapshot.shards));
    expect(next.guard.filter(ids.flat())).toEqual([]);
  });

  test("is one value, the shards as they came, and ASCII, though an id is not", async () => {
    const [storage, namespace] = [new MapStorage(), uniqueNamespace()];
    const { snapshot } = await fiveShards();
    await visitWith(storage, namespace, { ...snapshot, unseen: [{ id: "新闻", at: NOW * 1000 }] });
    for (const [key, value] of storage.values) expect(key + value).toMatch(/^[\n\x20-\x7e]*$/);
    expect(shardsIn(storage)).toEqual(snapshot.shards);
    const next = await visit(storage, namespace);
    expect(next.guard.filter(["新闻"])).toEqual(["新闻"]);
    expect(heldBy(next.guard)).toBe(namesOf(snapshot.shards));
  });

  test("comes after the impressions", async () => {
    const [gated, namespace] = [new GatedStorage(), uniqueNamespace()];
    const opening = openGuard({ storage: gated.face("page"), namespace }, newPage());
    await gated.releaseUntil(opening);
    const { guard } = await opening;
    guard.apply((await fiveShards()).snapshot);
    guard.record("a");
    const flushing = guard.flush();
    await gated.releaseUpTo("page", ({ operation, key }) => operation === "set" && key.endsWith("/h"));
    expect([...gated.values.keys()].some((key) => key.includes("/r/"))).toBe(true);
    await gated.releaseUntil(flushing);
    expect(keysIn(gated)).toHaveLength(1);
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

  test("without a storage is nothing, and the next visit holds nothing", async () => {
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

test("a stored snapshot costs an opening one request", async () => {
  const namespace = uniqueNamespace();
  const roundTrips = async (snapshot: Snapshot | undefined): Promise<{ turns: number; gets: number }> => {
    const [storage, gated] = [new MapStorage(), new GatedStorage()];
    const { guard } = await visit(storage, namespace);
    guard.record("a");
    guard.apply(snapshot);
    await guard.close();
    for (const [key, value] of storage.values) gated.values.set(key, value);
    const opening = openGuard({ storage: gated.face("page"), namespace }, newPage());
    const state = { isOpen: false };
    void opening.then(() => (state.isOpen = true));
    let [turns, gets] = [0, 0];
    for (;;) {
      await settled();
      if (state.isOpen) break;
      const waiting = gated.waiting.length;
      if (waiting > 0) turns++;
      gets += gated.waiting.filter(({ operation }) => operation === "get").length;
      for (let released = 0; released < waiting; released++) await gated.release();
    }
    expect((await opening).guard.explain("a").seen).toBe(true);
    return { turns, gets };
  };
  const without = await roundTrips(undefined);
  const withShards = await roundTrips((await fiveShards()).snapshot);
  expect(withShards.turns).toBe(without.turns + 1);
  expect(withShards.gets).toBe(without.gets + 1);
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

  /** Applies what a server then ships, and expects everything as ever in the next visit. */
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

  test("the stored snapshot holds nothing", async () => {
    const state = await stored();
    const { storage, namespace, key } = state;
    storage.values.delete(key);
    const { guard, errors } = await visit(storage, namespace);
    expect(heldBy(guard)).toBe("");
    await expectRecovery(guard, state);
    expect(errors).toEqual([]);
  });

  for (const [how, damage] of [
    ["something else", () => "no snapshot of any kind"],
    ["nothing", () => ""],
    ["what is binary", () => "\0\ud800\uffff"],
    ["its checksum alone", (text: string) => text.slice(0, 8)],
    ["one that is cut off", (text: string) => text.slice(0, -7)],
    ["one that is longer", (text: string) => `${text} `],
    ["one with another checksum", (text: string) => `${text.startsWith("0") ? "1" : "0"}${text.slice(1)}`],
    ["one with a letter changed", (text: string) => `${text.slice(0, 9)}!${text.slice(10)}`],
  ] as const) {
    test(`the stored snapshot to ${how} holds nothing, and replaces it`, async () => {
      const state = await stored();
      const { storage, namespace, ids, key } = state;
      const text = storage.values.get(key) ?? "";
      expect(damage(text)).not.toBe(text);
      storage.values.set(key, damage(text));
      const { guard, codes } = await visit(storage, namespace);
      expect(heldBy(guard)).toBe("");
      expect(guard.filter(ids.flat())).toEqual(ids.flat());
      await guard.flush();
      expect(guard.stats().storage).toBe("custom");
      await expectRecovery(guard, state);
      expect(codes()).toEqual([]);
    });
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
  /** A storage that takes so much, keys and values together. */
  class SmallStorage extends MapStorage {
    room = Infinity;

    override set(key: string, value: string): void {
      const grows = value.length - (this.values.get(key)?.length ?? -key.length);
      if (this.size + grows > this.room) throw new DOMException("no room", "QuotaExceededError");
      super.set(key, value);
    }
  }

  test("for shards still takes impressions, says so once, and takes shards on the next visit", async () => {
    const [storage, namespace] = [new SmallStorage(), uniqueNamespace()];
    const seen = idsOf("seen", 500);
    const snapshot = await shippedSnapshot(seen, { capacity: 100, shards: 5 });
    const { guard, codes } = await visit(storage, namespace);
    storage.room = 1_000;
    for (let refresh = 0; refresh < 5; refresh++) {
      guard.apply({ ...snapshot, version: refresh });
      guard.record(`refresh-${String(refresh)}`);
      await guard.flush();
    }
    expect(codes()).toEqual(["storage"]);
    expect(guard.stats().storage).toBe("custom");
    const other = await visit(storage, namespace);
    expect(other.guard.filter([...idsOf("refresh", 5), "new"])).toEqual(["new"]);
    await other.guard.close();
    // It is not tried again on this visit, which would make every refresh of a full storage fail once more.
    storage.room = Infinity;
    await guard.close();
    expect(keysIn(storage)).toEqual([]);
    await visitWith(storage, namespace, snapshot);
    const next = await visit(storage, namespace);
    expect(heldBy(next.guard)).toBe(namesOf(snapshot.shards));
    expect(next.guard.filter([...seen, ...idsOf("refresh", 5)])).toEqual([]);
  });

  test("is cleared nevertheless: the deletion frees space for the signal", async () => {
    for (const isOpen of [true, false]) {
      const [storage, namespace] = [new SmallStorage(), uniqueNamespace()];
      const { guard } = await visit(storage, namespace);
      guard.record(idsOf("seen", 50));
      await (isOpen ? guard.flush() : guard.close());
      storage.room = storage.size;
      await SeenGuard.clear(namespace, storage);
      if (isOpen) await guard.close();
      const next = await visit(storage, namespace);
      expect(next.guard.filter(idsOf("seen", 50))).toHaveLength(50);
      expect(storage.size).toBeLessThan(storage.room);
    }
  });

  test("i6: of shards gives impressions their room", async () => {
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
    // There is room for both again.
    storage.room = Infinity;
    next.guard.apply(snapshot);
    await next.guard.close();
    expect(heldBy((await visit(storage, namespace)).guard)).toBe(namesOf(snapshot.shards));
  });
});

describe("a storage that fails", () => {
  for (const operation of ["keys", "set"] as const) {
    test(`once to ${operation} is retried, and the next visit holds the snapshot that was in use`, async () => {
      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
      try {
        const [storage, namespace] = [new MapStorage(), uniqueNamespace()];
        await visitWith(storage, namespace, (await fiveShards("earlier")).snapshot);
        const { snapshot } = await fiveShards();
        const { guard, codes } = await visit(storage, namespace);
        let failures = 1;
        storage.before = (asked, key) => {
          const isMine = asked === "keys" || key.endsWith("/h");
          if (asked === operation && isMine && failures-- > 0) throw new Error("the disk is on fire");
        };
        guard.apply(snapshot);
        await guard.flush();
        await vi.advanceTimersByTimeAsync(2_000);
        await settled();
        expect(failures).toBeLessThanOrEqual(0);
        // What succeeds in the same task was no trouble.
        expect(codes()).toEqual(operation === "set" ? ["storage"] : []);
        expect(guard.stats().storage).toBe("custom");
        const next = await visit(storage, namespace);
        expect(heldBy(next.guard)).toBe(namesOf(snapshot.shards));
        expect(keysIn(storage)).toHaveLength(1);
      } finally {
        vi.useRealTimers();
      }
    });
  }

  test("to answer before the first response does not replace that response by a stored snapshot", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const [storage, gated, namespace] = [new MapStorage(), new GatedStorage(), uniqueNamespace()];
      const earlier = await fiveShards("earlier");
      await visitWith(storage, namespace, earlier.snapshot);
      for (const [key, value] of storage.values) gated.values.set(key, value);
      // In this page, whose engine is there already.
      const opening = openGuard({ storage: gated.face("page"), namespace });
      await vi.advanceTimersByTimeAsync(60_000);
      const { guard } = await opening;
      expect(heldBy(guard)).toBe("");
      const { snapshot } = await fiveShards();
      guard.apply(snapshot);
      await gated.releaseUntil(guard.flush());
      expect(heldBy(guard)).toBe(namesOf(snapshot.shards));
      expect(guard.filter(earlier.ids.flat())).toEqual(earlier.ids.flat());
      expect(keysIn(gated)).toHaveLength(1);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe("two tabs", () => {
  test("with different shards each filter by their own, and the next visit holds the last one's", async () => {
    const [storage, namespace] = [new MapStorage(), uniqueNamespace()];
    const [one, two] = [await visit(storage, namespace), await visit(storage, namespace)];
    const [ofOne, ofTwo] = [await fiveShards("one"), await fiveShards("two")];
    const all = [...ofOne.ids.flat(), ...ofTwo.ids.flat()];
    for (const [tab, other] of [
      [one, two],
      [two, one],
      [one, two],
    ] as const) {
      const own = tab === one ? ofOne : ofTwo;
      const others = tab === one ? ofTwo : ofOne;
      expect(tab.guard.apply(withoutHeld(own.snapshot, heldBy(tab.guard)))).toMatchObject({ applied: true });
      await tab.guard.flush();
      await other.guard.flush();
      expect(tab.guard.filter(all)).toEqual(others.ids.flat());
      expect(heldBy(tab.guard)).toBe(namesOf(own.snapshot.shards));
      const next = await visit(storage, namespace);
      expect(heldBy(next.guard)).toBe(namesOf(own.snapshot.shards));
      await next.guard.close();
      expect(keysIn(storage)).toHaveLength(1);
    }
    expect([...one.errors, ...two.errors]).toEqual([]);
  });
});

describe("clear", () => {
  test("removes the stored snapshot, and keeps one applied later", async () => {
    const [storage, namespace] = [new MapStorage(), uniqueNamespace()];
    const { snapshot } = await fiveShards();
    const { guard } = await visit(storage, namespace);
    guard.apply(snapshot);
    await guard.flush();
    const clearing = newPage().SeenGuard.clear(namespace, storage);
    await clearing;
    expect(keysIn(storage)).toEqual([]);
    expect(heldBy((await visit(storage, namespace)).guard)).toBe("");
    const after = await visit(storage, namespace);
    after.guard.apply(snapshot);
    await after.guard.close();
    expect(heldBy((await visit(storage, namespace)).guard)).toBe(namesOf(snapshot.shards));
  });

  test("whose page died before it had removed anything leaves a stored snapshot that is not used", async () => {
    const [storage, namespace] = [new MapStorage(), uniqueNamespace()];
    const { snapshot, ids } = await fiveShards();
    await visitWith(storage, namespace, snapshot);
    const [stored = ""] = keysIn(storage);
    // All that it has done is to note its number.
    storage.values.set(stored.replace(/[0-9a-z]{11}\/h$/, "000000000zz/m"), "1");
    const { guard, errors } = await visit(storage, namespace);
    expect(heldBy(guard)).toBe("");
    expect(guard.filter(ids.flat())).toEqual(ids.flat());
    await guard.flush();
    expect(keysIn(storage)).toEqual([]);
    guard.apply(snapshot);
    await guard.close();
    expect(heldBy((await visit(storage, namespace)).guard)).toBe(namesOf(snapshot.shards));
    expect(keysIn(storage)).toEqual([stored.replace(/[0-9a-z]{11}\/h$/, "000000000zz/h")]);
    expect(errors).toEqual([]);
  });

  test("of the same document overrules a write in progress, and keeps the next snapshot", async () => {
    const [gated, namespace] = [new GatedStorage(), uniqueNamespace()];
    const [page, face] = [newPage(), gated.face("page")];
    const opening = openGuard({ storage: face, namespace }, page);
    await gated.releaseUntil(opening);
    const { guard } = await opening;
    const [before, after] = [await fiveShards("before"), await fiveShards("after")];
    guard.apply(before.snapshot);
    void guard.flush();
    await gated.releaseUpTo("page", ({ operation, key }) => operation === "set" && key.endsWith("/h"));
    const clearing = page.SeenGuard.clear(namespace, face);
    expect(heldBy(guard)).toBe("");
    guard.apply(after.snapshot);
    await gated.releaseUntil(clearing);
    await gated.releaseUntil(guard.close());
    const later = new MapStorage();
    for (const [key, value] of gated.values) later.values.set(key, value);
    const next = await visit(later, namespace);
    expect(heldBy(next.guard)).toBe(namesOf(after.snapshot.shards));
    expect(next.guard.filter(before.ids.flat())).toEqual(before.ids.flat());
    expect(keysIn(later)).toHaveLength(1);
  });

  for (const dies of [false, true]) {
    test(`in another tab is not undone by an old tab's late write${dies ? ", though that tab dies right after it" : ""}`, async () => {
      const [gated, namespace] = [new GatedStorage(), uniqueNamespace()];
      const opening = openGuard({ storage: gated.face("old"), namespace }, newPage());
      await gated.releaseUntil(opening);
      const { guard } = await opening;
      const { snapshot, ids } = await fiveShards();
      guard.apply(snapshot);
      void guard.flush();
      await gated.releaseUpTo("old", ({ operation, key }) => operation === "set" && key.endsWith("/h"));
      await gated.releaseUntil(newPage().SeenGuard.clear(namespace, gated.face("new")), { page: "new" });
      if (dies) {
        const isWrite = ({ operation, key }: { operation: string; key: string }) =>
          operation !== "remove" && key !== "";
        for (let at; (at = gated.waiting.findIndex(isWrite)) >= 0;) await gated.release(at);
        expect(keysIn(gated)).toHaveLength(1);
      } else {
        // It looks, learns of the clear, and has removed what is void when it looks again.
        for (let again = 0; again < 3; again++) await gated.releaseUntil(guard.flush());
        expect(keysIn(gated)).toEqual([]);
      }
      const later = new MapStorage();
      for (const [key, value] of gated.values) later.values.set(key, value);
      const next = await visit(later, namespace);
      expect(heldBy(next.guard)).toBe("");
      expect(next.guard.filter(ids.flat())).toEqual(ids.flat());
      // What is void is removed.
      await next.guard.flush();
      expect(keysIn(later)).toEqual([]);
      expect(next.errors).toEqual([]);
    });
  }
});
