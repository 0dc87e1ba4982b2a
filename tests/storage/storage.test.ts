/** A custom storage: data across visits, and faulty storage. */
import { SeenGuard } from "seenguard";
import type { SeenStorage } from "seenguard";
import { describe, expect, test, vi } from "vitest";
import { fakeTimers, never } from "../support/clocks.js";
import {
  GatedStorage,
  idsOf,
  MapStorage,
  newPage,
  openGuard,
  settled,
  shippedSnapshot,
  uniqueNamespace,
  type OpenedGuard,
} from "../support/node.js";

/** Records ids in a visit of its own, as another page would. */
async function visit(storage: SeenStorage, namespace: string, ids: string[] = []): Promise<void> {
  const { guard } = await openGuard({ storage, namespace });
  guard.record(ids);
  await guard.close();
}

/** Records ids, each written as a row of its own. */
async function recordInPieces({ guard }: OpenedGuard, ids: readonly string[]): Promise<void> {
  for (const id of ids) {
    guard.record(id);
    await guard.flush();
  }
}

/** The keys of the rows in a storage. */
function rowsIn({ values }: Pick<MapStorage, "values">): string[] {
  return [...values.keys()].filter((key) => key.includes("/r/"));
}

/** The ids of these that a new page does not stop. */
async function forgotten(storage: SeenStorage, namespace: string, ids: string[]): Promise<string[]> {
  const { guard } = await openGuard({ storage, namespace }, newPage());
  const fresh = guard.filter(ids);
  await guard.close();
  return fresh;
}

describe("with a custom storage", () => {
  test("recorded ids are stopped on the next visit, pending with their times, and covered then", async () => {
    const [storage, namespace] = [new MapStorage(), uniqueNamespace()];
    const first = await openGuard({ storage, namespace });
    expect(first.guard.stats().storage).toBe("custom");
    const before = Date.now();
    first.guard.record(["a", 7, "🦀\0", ""]);
    first.guard.apply(await shippedSnapshot(["b"]));
    first.guard.record("b");
    await first.guard.close();

    const second = await openGuard({ storage, namespace }, newPage());
    expect(second.guard.pending()).toEqual(["a", "7", "🦀\0", ""]);
    expect(second.guard.filter(["a", "7", "🦀\0", "", "b", "c"])).toEqual(["c"]);
    const explained = second.guard.explain("a");
    if (!explained.seen || explained.by !== "pending") throw new Error("it must be pending");
    expect(explained.at?.getTime()).toBeGreaterThanOrEqual(before);
    expect(second.guard.apply(await shippedSnapshot(["a", "7"]))).toMatchObject({ covered: 2 });
    expect(second.guard.stats()).toMatchObject({ pending: 2, remembered: 5 });
    expect([...first.errors, ...second.errors]).toEqual([]);
  });

  test("other keys in the storage stay unchanged", async () => {
    const [storage, namespace] = [new MapStorage(), uniqueNamespace()];
    const others = { token: "secret", seenguard: "x", "seenguard-else/a": "1", "": "empty" };
    for (const [key, value] of Object.entries(others)) storage.values.set(key, value);
    for (let again = 0; again < 3; again++) await visit(storage, namespace, ["a"]);
    await SeenGuard.clear(namespace, storage);
    for (const [key, value] of Object.entries(others)) expect(storage.values.get(key)).toBe(value);
  });

  test("a guard that was closed does not call it again", async () => {
    const [storage, namespace] = [new MapStorage(), uniqueNamespace()];
    const opened = await openGuard({ storage, namespace });
    await recordInPieces(opened, idsOf("piece", 4));
    await opened.guard.close();
    const calls: string[] = [];
    storage.before = (operation, key) => calls.push(`${operation} ${key}`);
    // Otherwise it would compact two seconds after it was opened.
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    expect(calls).toEqual([]);
  });
});

describe("clear", () => {
  test("deletes a namespace, in memory and in storage, and no other", async () => {
    const [storage, namespace, other] = [new MapStorage(), uniqueNamespace(), uniqueNamespace()];
    await visit(storage, other, ["a"]);
    const { guard } = await openGuard({ storage, namespace });
    guard.record(["a", "b"]);
    guard.apply(await shippedSnapshot(["c"]));
    await SeenGuard.clear(namespace, storage);
    expect(guard.filter(["a", "b", "c"])).toEqual(["a", "b", "c"]);
    expect(guard.pending()).toEqual([]);
    expect(guard.stats()).toMatchObject({ pending: 0, remembered: 0, serverFalsePositiveRate: 0 });
    expect(await forgotten(storage, namespace, ["a", "b"])).toEqual(["a", "b"]);
    expect(await forgotten(storage, other, ["a"])).toEqual([]);
  });

  test("leaves nothing that reveals seen ids", async () => {
    const [storage, namespace] = [new MapStorage(), uniqueNamespace()];
    await visit(storage, namespace, idsOf("secret", 100));
    const full = storage.size;
    await SeenGuard.clear(namespace, storage);
    expect(full).toBeGreaterThan(1000);
    // The generation, and the time of the last use.
    expect(storage.size).toBeLessThan(150);
  });

  test("i6: does not delete impressions recorded while it runs on a slow storage", async () => {
    const [storage, namespace] = [new GatedStorage(), uniqueNamespace()];
    const opening = openGuard({ storage: storage.face("page"), namespace });
    await storage.releaseUntil(opening);
    const { guard } = await opening;
    guard.record("before");
    await settled();
    guard.record("while it is written");
    const clearing = SeenGuard.clear(namespace, storage.face("page"));
    guard.record("after");
    expect(guard.filter(["before", "while it is written", "after"])).toEqual(["before", "while it is written"]);
    await storage.releaseUntil(clearing);
    await storage.releaseUntil(guard.close());
    const copy = new MapStorage();
    for (const [key, value] of storage.values) copy.values.set(key, value);
    const all = ["before", "while it is written", "after"];
    expect(await forgotten(copy, namespace, all)).toEqual(["before", "while it is written"]);
  });

  test("i6: also applies to a page that is still writing earlier impressions", async () => {
    const [storage, namespace] = [new GatedStorage(), uniqueNamespace()];
    const opening = openGuard({ storage: storage.face("old"), namespace }, newPage());
    await storage.releaseUntil(opening);
    const { guard } = await opening;
    guard.record("a");
    const closing = guard.close();
    await storage.releaseUpTo("old", ({ operation }) => operation === "set");
    await storage.releaseUntil(SeenGuard.clear(namespace, storage.face("new")), { page: "new" });
    await storage.releaseUntil(closing);
    const late = new MapStorage();
    for (const [key, value] of storage.values) late.values.set(key, value);
    expect(await forgotten(late, namespace, ["a"])).toEqual(["a"]);
  });

  test("i6: rejects with the storage's error if no guard is open that could report it", async () => {
    const failing = Object.assign(new MapStorage(), { keys: () => Promise.reject(new Error("no disk")) });
    const cleared = SeenGuard.clear(uniqueNamespace(), failing);
    await expect(cleared).rejects.toMatchObject({ name: "SeenGuardError", code: "storage" });
    await expect(cleared).rejects.toThrow("no disk");
  });

  test("i6: rejects after ten seconds without a response of the storage, and not before", async () => {
    fakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const cleared = SeenGuard.clear(uniqueNamespace(), { get: never, set: never, remove: never, keys: never });
    const outcome = vi.fn();
    cleared.then(outcome, outcome);
    await vi.advanceTimersByTimeAsync(4_900);
    expect(outcome).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(5_100);
    expect(outcome).toHaveBeenCalledWith(expect.objectContaining({ name: "SeenGuardError", code: "storage" }));
  });

  test("rejects for wrong arguments", async () => {
    for (const namespace of ["", 7, undefined, null, {}]) {
      await expect(SeenGuard.clear(namespace as string)).rejects.toMatchObject({ code: "bad-option" });
    }
    for (const storage of ["disk", null, {}, 7]) {
      await expect(SeenGuard.clear("a", storage as "none")).rejects.toMatchObject({ code: "bad-option" });
    }
  });
});

describe("a storage that fails", () => {
  test("for lack of space is reported as full, and stored data stays", async () => {
    const [storage, namespace] = [new MapStorage(), uniqueNamespace()];
    await visit(storage, namespace, ["earlier"]);
    let full = true;
    storage.before = (operation) => {
      if (full && operation === "set") throw new DOMException("no room", "QuotaExceededError");
    };
    const { guard, codes } = await openGuard({ storage, namespace });
    guard.record("a");
    await guard.flush();
    guard.record("b");
    await guard.flush();
    expect(guard.stats().storage).toBe("full");
    expect(guard.filter(["earlier", "a", "b", "c"])).toEqual(["c"]);
    expect(codes()).toEqual(["storage"]);
    full = false;
    await guard.close();
    expect(await forgotten(storage, namespace, ["earlier", "a", "b"])).toEqual([]);
  });
});

describe("a slow storage", () => {
  test("that stops responding delays flush for at most ten seconds, and close for at most two", async () => {
    fakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const storage = new MapStorage();
    const { guard, codes } = await openGuard({ storage });
    Object.assign(storage, { get: never, set: never, remove: never, keys: never });
    guard.record("a");
    const isDone = vi.fn();
    void guard.flush().then(isDone);
    await vi.advanceTimersByTimeAsync(9_999);
    expect(isDone).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(isDone).toHaveBeenCalledOnce();
    expect(codes()).toEqual(["storage"]);
    guard.record("b");
    void guard.close().then(isDone);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(isDone).toHaveBeenCalledTimes(2);
  });

  test("i5: delays open for at most two seconds, and has failed after ten", async () => {
    // The engine is loaded: only the storage is waited for.
    await openGuard();
    fakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const isOpen = vi.fn();
    const opening = openGuard({ storage: { get: never, set: never, remove: never, keys: never } });
    void opening.then(isOpen);
    await vi.advanceTimersByTimeAsync(1_999);
    await settled();
    expect(isOpen).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    await settled();
    expect(isOpen).toHaveBeenCalledOnce();
    const { codes } = await opening;
    expect(codes()).toEqual([]);
    await vi.advanceTimersByTimeAsync(8_000);
    expect(codes()).toEqual(["storage"]);
  });

  test("that never responds to one call has failed after ten seconds, and is called again", async () => {
    const [storage, namespace] = [new MapStorage(), uniqueNamespace()];
    const { guard, codes } = await openGuard({ storage, namespace });
    await settled();
    fakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    vi.spyOn<SeenStorage, "set">(storage, "set").mockReturnValueOnce(never());
    guard.record("a");
    await vi.advanceTimersByTimeAsync(9_999);
    expect([guard.stats().storage, codes()]).toEqual(["custom", []]);
    await vi.advanceTimersByTimeAsync(1);
    expect([guard.stats().storage, codes()]).toEqual(["unavailable", ["storage"]]);
    guard.record("b");
    await vi.advanceTimersByTimeAsync(1_000);
    await settled();
    expect(guard.stats().storage).toBe("custom");
    expect(await forgotten(storage, namespace, ["a", "b"])).toEqual([]);
  });

  test("leaves no timer behind once the guard is closed", async () => {
    const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;
    const before = timers();
    const { guard } = await openGuard({ storage: new MapStorage() });
    guard.record("a");
    await guard.close();
    expect(timers()).toBe(before);
  });

  test("is read without timers, which are late in the background", async () => {
    const [storage, namespace] = [new MapStorage(), uniqueNamespace()];
    const ids = idsOf("id-", 10_000);
    await visit(storage, namespace, ids);
    fakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const { guard } = await openGuard({ storage, namespace }, newPage());
    expect(guard.filter(ids)).toEqual([]);
    await guard.close();
  });

  test("i5: that responds after open has resolved is read then", async () => {
    fakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const [gated, namespace] = [new GatedStorage(), uniqueNamespace()];
    await storeInto(gated, namespace, ["earlier"]);
    const opening = openGuard({ storage: gated.face("page"), namespace });
    await vi.advanceTimersByTimeAsync(5_000);
    const { guard } = await opening;
    guard.record("now");
    expect(guard.filter(["earlier", "now"])).toEqual(["earlier"]);
    await gated.releaseUntil(guard.flush());
    expect(guard.filter(["earlier", "now"])).toEqual([]);
    expect(guard.stats().storage).toBe("custom");
    expect(await keptIn(gated, namespace, ["earlier", "now"])).toEqual([]);
  });
});

/** Records in a visit over a gated storage whose operations all run. */
async function storeInto(gated: GatedStorage, namespace: string, ids: string[]): Promise<void> {
  const open = new MapStorage();
  await visit(open, namespace, ids);
  for (const [key, value] of open.values) gated.values.set(key, value);
}

/** The ids of these that a new page over the current content does not stop. */
function keptIn(gated: GatedStorage, namespace: string, ids: string[]): Promise<string[]> {
  const copy = new MapStorage();
  for (const [key, value] of gated.values) copy.values.set(key, value);
  return forgotten(copy, namespace, ids);
}

describe("stored content that is damaged", () => {
  /** A visit that left several rows. */
  async function stored(): Promise<{ storage: MapStorage; namespace: string; ids: string[]; rows: () => string[] }> {
    const [storage, namespace] = [new MapStorage(), uniqueNamespace()];
    // Fewer than are compacted.
    const ids = idsOf("item", 3);
    await recordInPieces(await openGuard({ storage, namespace }, newPage()), ids);
    return { storage, namespace, ids, rows: () => rowsIn(storage) };
  }

  for (const [how, damage] of [
    ["replaced by something else", () => "no row of any kind"],
    ["cut off in the middle", (text: string) => text.slice(0, text.length / 2)],
    ["of one letter changed", (text: string) => `${text.slice(0, 10)}${text[10] === "A" ? "B" : "A"}${text.slice(11)}`],
    ["longer by a letter", (text: string) => `${text}A`],
    ["binary", () => "\0\ud800\uffff"],
    ["of ten megabytes", () => "A".repeat(10_000_000)],
  ] as const) {
    test(`i5: and ${how} is reported once and deleted, and the other rows stay`, async () => {
      const { storage, namespace, ids, rows } = await stored();
      const [victim = "", ...others] = rows();
      const text = storage.values.get(victim) ?? "";
      expect(damage(text)).not.toBe(text);
      storage.values.set(victim, damage(text));
      const { guard, codes } = await openGuard({ storage, namespace }, newPage());
      // On a busy machine ten megabytes may take longer than `open` waits.
      await guard.flush();
      expect(codes()).toEqual(["storage"]);
      expect(guard.filter(ids)).toEqual(["item-0"]);
      expect(guard.stats().storage).toBe("custom");
      expect(rows()).toEqual(others);
      expect(codes()).toEqual(["storage"]);
      await guard.close();
      const next = await openGuard({ storage, namespace }, newPage());
      expect(next.codes()).toEqual([]);
      expect(next.guard.filter(ids)).toEqual(["item-0"]);
    });
  }
});

describe("data of a later version", () => {
  /** A key next to those of a namespace, of another letter. */
  const besides = (storage: MapStorage, number?: string) => {
    const [before = "", own = ""] = (rowsIn(storage)[0] ?? "").split("/r/")[0]?.split(/\/(?=[^/]*$)/) ?? [];
    return `${before}/${number ?? own}/q/anything`;
  };

  test("i5: is not changed, and this version works next to it", async () => {
    const [storage, namespace] = [new MapStorage(), uniqueNamespace()];
    await visit(storage, namespace, ["a"]);
    const text = "what only a later version understands\n";
    storage.values.set(besides(storage), text);
    for (let again = 0; again < 3; again++) {
      const opened = await openGuard({ storage, namespace }, newPage());
      expect(opened.guard.filter(["a", "b"])).toEqual(again === 0 ? ["b"] : []);
      // Enough for a compaction, which removes rows.
      await recordInPieces(opened, ["b", ...idsOf(`visit-${String(again)}`, 15)]);
      await opened.guard.close();
      expect(opened.codes()).toEqual([]);
      expect(storage.values.get(besides(storage))).toBe(text);
    }
  });
});
