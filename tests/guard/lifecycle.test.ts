/** Opening, sharing and closing a guard; its options; and platforms without storage or a document. */
import { createRequire } from "node:module";
import { SeenGuard, SeenGuardError } from "seenguard";
import type { GuardOptions } from "seenguard";
import { describe, expect, test, vi } from "vitest";
import {
  ENGINE,
  GatedStorage,
  MapStorage,
  newPage,
  openGuard,
  openPage,
  settled,
  shippedSnapshot,
  uniqueNamespace,
  type Package,
} from "../support/node.js";

const { SeenGuard: CommonJsGuard } = createRequire(import.meta.url)("seenguard") as Package;

const NOTHING = {
  engine: "none",
  storage: "none",
  version: undefined,
  pending: 0,
  undelivered: 0,
  remembered: 0,
  serverFalsePositiveRate: 0,
  failingSince: undefined,
};

describe("options of open", () => {
  const namespace = "home:1";
  const wrong: readonly unknown[] = [
    undefined,
    null,
    7,
    "home:1",
    [],
    {},
    { namespace: "" },
    { namespace: 7 },
    { namespace: null },
    { namespace, storage: "disk" },
    { namespace, storage: null },
    { namespace, storage: {} },
    { namespace, storage: { get: () => null, set: () => undefined, remove: () => undefined } },
    { namespace, storage: { get: () => null, set: () => undefined, remove: () => undefined, keys: [] } },
    { namespace, windowDays: 0 },
    { namespace, windowDays: -1 },
    { namespace, windowDays: NaN },
    { namespace, windowDays: Infinity },
    { namespace, windowDays: 36_501 },
    { namespace, windowDays: "30" },
    { namespace, windowDays: 30n },
    { namespace, remember: 0 },
    { namespace, remember: 50_001 },
    { namespace, remember: 1.5 },
    { namespace, remember: "10000" },
    { namespace, onError: "log" },
    { namespace, onError: null },
    { namespace, onLag: {} },
    { namespace, nameSpace: "typo" },
    { namespace, window: 30 },
  ];

  test("i5: that are wrong make open reject with bad-option and the option's name, and nothing is opened", async () => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    for (const [index, options] of wrong.entries()) {
      // Without storage there is an engine nonetheless, which has the ranges.
      const given =
        typeof options === "object" && options && !("storage" in options) ? { storage: "none", ...options } : options;
      const error: unknown = await SeenGuard.open(given as GuardOptions).then(
        () => undefined,
        (cause: unknown) => cause,
      );
      expect(error, `case ${String(index)}`).toBeInstanceOf(SeenGuardError);
      expect(error, `case ${String(index)}`).toMatchObject({ code: "bad-option", name: "SeenGuardError" });
      const name = typeof options === "object" && options !== null ? (Object.keys(options).at(-1) ?? "") : "";
      expect((error as Error).message).toContain(name);
    }
    expect(warn).not.toHaveBeenCalled();
    warn.mockRestore();
    const { guard, errors } = await openGuard({ namespace, windowDays: 1 });
    expect(guard.stats().engine).toBe(ENGINE);
    expect(errors).toEqual([]);
  });

  test("that are undefined have their defaults", async () => {
    const options = { namespace: uniqueNamespace(), storage: "none", windowDays: undefined, onLag: undefined };
    const { guard } = await openGuard(options as unknown as GuardOptions);
    expect(guard.stats().engine).toBe(ENGINE);
  });

  test("may be of a class, with a storage of a class", async () => {
    class Options implements GuardOptions {
      namespace = uniqueNamespace();
      storage = new MapStorage();
    }
    const guard = await SeenGuard.open(new Options());
    expect(guard.stats().storage).toBe("custom");
    await guard.close();
  });
});

describe("a namespace opened twice in one document", () => {
  test("shares its state: ids that one handle records are stopped in the other", async () => {
    const options = { namespace: uniqueNamespace() };
    const [first, second] = [await openGuard(options), await openGuard(options)];
    first.guard.record("a");
    expect(second.guard.filter(["a", "b"])).toEqual(["b"]);
    second.guard.apply(await shippedSnapshot(["b"]));
    expect(first.guard.filter(["a", "b", "c"])).toEqual(["c"]);
    expect(first.guard.stats().version).toBe(second.guard.stats().version);
    expect([...first.errors, ...second.errors]).toEqual([]);
  });

  test("i6: concurrently is one guard, too", async () => {
    const options = { namespace: uniqueNamespace(), storage: new MapStorage() };
    const [first, second] = await Promise.all([openGuard(options), openGuard(options)]);
    first.guard.record("a");
    expect(second.guard.explain("a").seen).toBe(true);
    await Promise.all([first.guard.close(), second.guard.close()]);
    const third = await openGuard(options);
    expect(third.guard.filter(["a", "b"])).toEqual(["b"]);
  });

  test("works until the last holder closes", async () => {
    const options = { namespace: uniqueNamespace() };
    const [first, second] = [await openGuard(options), await openGuard(options)];
    first.guard.record("a");
    await first.guard.close();
    await first.guard.close();
    expect(first.guard.filter(["a"])).toEqual(["a"]);
    expect(second.guard.filter(["a", "b"])).toEqual(["b"]);
    await second.guard.close();
    const third = await openGuard(options);
    expect(third.guard.filter(["a", "b"])).toEqual(["a", "b"]);
  });

  test("while the first holder closes on a slow storage loses nothing", async () => {
    const [gated, namespace] = [new GatedStorage(), uniqueNamespace()];
    const storage = gated.face("page");
    const opening = openGuard({ storage, namespace });
    await gated.releaseUntil(opening);
    const { guard } = await opening;
    guard.record("a");
    const closing = guard.close();
    const reopening = openGuard({ storage, namespace });
    await gated.releaseUntil(Promise.all([closing, reopening]));
    const { guard: again } = await reopening;
    again.record("b");
    expect(again.filter(["a", "b", "c"])).toEqual(["c"]);
    expect(guard.filter(["a", "b"])).toEqual(["a", "b"]);
    await gated.releaseUntil(again.close());
  });

  test("with other options reports that to the later handle, and uses the first one's options", async () => {
    const options = { namespace: uniqueNamespace() };
    const first = await openGuard({ ...options, windowDays: 5 });
    const second = await openGuard({ ...options, windowDays: 6 });
    expect(second.codes()).toEqual(["already-open"]);
    const third = await openGuard({ ...options, windowDays: 5, storage: new MapStorage() });
    expect(third.codes()).toEqual(["already-open"]);
    expect(first.codes()).toEqual([]);
    first.guard.record("a");
    expect(third.guard.explain("a").seen).toBe(true);
    expect(third.guard.stats().storage).toBe("none");
  });

  test("i5: with an onError that throws still opens", async () => {
    const thrown: unknown[] = [];
    const listeners = process.listeners("uncaughtException");
    process.removeAllListeners("uncaughtException");
    process.on("uncaughtException", (error) => thrown.push(error));
    try {
      const options = { namespace: uniqueNamespace() };
      await openGuard(options);
      const onError = () => {
        throw new Error("the app's own mistake");
      };
      const { guard } = await openGuard({ ...options, windowDays: 7, onError });
      expect(guard.apply({ shards: ["!"] })).toMatchObject({ applied: false, reason: "invalid" });
      await settled();
      expect(thrown).toHaveLength(2);
      expect(guard.filter(["a"])).toEqual(["a"]);
    } finally {
      process.removeAllListeners("uncaughtException");
      for (const listener of listeners) process.on("uncaughtException", listener);
    }
  });

  test("reports an error to each handle, once", async () => {
    const options = { namespace: uniqueNamespace() };
    const [first, second] = [await openGuard(options), await openGuard(options)];
    first.guard.apply({ shards: ["!"] });
    expect(first.codes()).toEqual(["bad-snapshot"]);
    expect(second.codes()).toEqual(["bad-snapshot"]);
    await first.guard.close();
    second.guard.apply({ shards: ["!"] });
    expect(first.codes()).toEqual(["bad-snapshot"]);
    expect(second.codes()).toEqual(["bad-snapshot", "bad-snapshot"]);
  });

  test("i6: by two copies of the package is one guard", async () => {
    expect(CommonJsGuard).not.toBe(SeenGuard);
    const options = { namespace: uniqueNamespace(), storage: new MapStorage() };
    const [esm, cjs] = [await openGuard(options), await openGuard(options, { SeenGuard: CommonJsGuard })];
    esm.guard.record("a");
    cjs.guard.record("b");
    expect(esm.guard.filter(["a", "b", "c"])).toEqual(["c"]);
    expect(cjs.guard.filter(["a", "b", "c"])).toEqual(["c"]);
    await esm.guard.close();
    expect(cjs.guard.filter(["a", "b", "c"])).toEqual(["c"]);
    await cjs.guard.close();
    const again = await openGuard(options, { SeenGuard: CommonJsGuard });
    expect(again.guard.filter(["a", "b", "c"])).toEqual(["c"]);
  });
});

describe("a guard that was closed", () => {
  test("i5: lets everything pass and throws nowhere", async () => {
    const { guard, errors } = await openGuard({ storage: new MapStorage() });
    guard.record(["a", "b"]);
    guard.apply(await shippedSnapshot(["c"]));
    await guard.close();
    expect(guard.apply(await shippedSnapshot(["a"]))).toEqual({ applied: false, reason: "closed" });
    expect(guard.apply({ shards: ["!"] })).toMatchObject({ applied: false, reason: "closed" });
    expect(guard.filter(["a", "b", "c", "a", 7, "7"])).toEqual(["a", "b", "c", 7]);
    expect(guard.filter([{ id: "a" }, {}] as { id: string }[])).toEqual([{ id: "a" }, {}]);
    expect(guard.explain("a")).toEqual({ seen: false });
    expect(guard.record(["x", "y"])).toBe(0);
    expect(guard.pending()).toEqual([]);
    expect(guard.stats()).toEqual(NOTHING);
    expect(guard.feed().filter(["a", "a", "b"])).toEqual(["a", "b"]);
    await guard.flush();
    await guard.close();
    expect(errors).toMatchObject([{ code: "misuse" }]);
  });

  test("has stored impressions that were recorded just before", async () => {
    const options = { namespace: uniqueNamespace(), storage: new MapStorage() };
    const { guard } = await openGuard(options);
    guard.record("a");
    await guard.close();
    expect((await openGuard(options, newPage())).guard.explain("a").seen).toBe(true);
  });
});

describe("where there is no document", () => {
  test("and no storage option, everything passes, which is reported once", async () => {
    expect(typeof document).toBe("undefined");
    const { SeenGuard: Guard } = openPage("", {}, "seenguard.development.iife.js").seenguard;
    const errors: string[] = [];
    const onError = ({ code, message }: SeenGuardError) => errors.push(`${code}: ${message}`);
    for (let request = 0; request < 3; request++) await Guard.open({ namespace: uniqueNamespace(), onError });
    expect(errors).toEqual([expect.stringMatching(/^misuse: there is neither a document nor IndexedDB .*`storage`/)]);
  });

  test("and no storage option, nothing is stored or loaded", async () => {
    const guard = await SeenGuard.open({ namespace: uniqueNamespace(), onError: () => {} });
    expect(guard.record("a")).toBe(0);
    expect(guard.filter(["a", "a", { id: "b" }])).toEqual(["a", { id: "b" }]);
    expect(guard.apply(await shippedSnapshot(["a"]))).toMatchObject({ applied: false, reason: "no-engine" });
    expect(guard.feed().filter(["a"])).toEqual(["a"]);
    expect(guard.stats()).toEqual(NOTHING);
    await guard.flush();
    await guard.close();
    expect(guard.apply(null)).toMatchObject({ reason: "closed" });
  });

  test("observing does nothing and throws only for wrong options", async () => {
    const { guard } = await openGuard();
    const element = { nodeType: 1 } as Element;
    guard.observe(element)();
    guard.observeItem(element, "a")();
    expect(() => guard.observe(element, { signal: {} } as object)).toThrow(SeenGuardError);
    expect(() => guard.observe(element, { threshold: 2 })).toThrow(SeenGuardError);
    expect(() => guard.observe(element, { id: "a" } as object)).toThrow(SeenGuardError);
    expect(() => guard.observeItem(element, "a", { dwell: 1 } as object)).toThrow(SeenGuardError);
  });

  test("IndexedDB is missing, which is reported once, and the guard works without it", async () => {
    const { guard, codes } = await openGuard({ storage: "indexeddb" });
    guard.record("a");
    await guard.flush();
    expect(guard.filter(["a", "b"])).toEqual(["b"]);
    expect(guard.stats()).toMatchObject({ engine: ENGINE, storage: "unavailable" });
    expect(codes()).toEqual(["storage"]);
  });
});
