/** Hostile data: full shards, and names of properties that objects inherit. */
import type { Snapshot } from "seenguard";
import { describe, expect, test } from "vitest";
import { shardOf } from "../support/shards.js";
import { idsOf, MapStorage, openGuard, openPage, settled, shippedSnapshot } from "../support/node.js";

describe("shards with all bits set", () => {
  const full: Snapshot = { shards: [shardOf({ payload: [255] })] };

  test("i3: stop everything, which is reported once and visible in stats()", async () => {
    const { guard, codes } = await openGuard();
    const usual = await shippedSnapshot(idsOf("seen", 1000));
    for (const [snapshot, rate, reported] of [
      [usual, 0.001, 0],
      [full, 1, 1],
      [{ shards: [...full.shards, shardOf()] }, 1, 1],
      [usual, 0.001, 1],
      [full, 1, 1],
    ] as const) {
      expect(guard.apply({ shards: snapshot.shards })).toMatchObject({ applied: true });
      expect(guard.stats().serverFalsePositiveRate).toBeCloseTo(rate, 3);
      expect(codes()).toEqual(Array(reported).fill("too-large"));
    }
    expect(guard.filter(idsOf("fresh", 10))).toEqual([]);
    expect(guard.explain("fresh-0")).toMatchObject({ seen: true, by: "server" });
  });
});

describe("names of inherited properties", () => {
  const NAMES = ["__proto__", "constructor", "prototype", "toString", "hasOwnProperty"];

  test("are ids, namespaces and keys of feeds like others, and change no object", async () => {
    const { seenguard, run } = openPage();
    const before = run("Reflect.ownKeys(Object.prototype).join()");
    const storage = new MapStorage();
    for (const namespace of NAMES) {
      const { guard, codes } = await openGuard({ namespace, storage }, seenguard);
      for (const key of NAMES) expect(guard.feed({ key }).admit(NAMES)).toEqual(NAMES);
      expect(guard.record(NAMES)).toBe(NAMES.length);
      expect(guard.filter([...NAMES, "a"])).toEqual(["a"]);
      await guard.close();
      const next = await openGuard({ namespace, storage }, seenguard);
      expect(next.guard.filter([...NAMES, "a"])).toEqual(["a"]);
      expect([...codes(), ...next.codes()]).toEqual([]);
    }
    await settled();
    expect(run("Reflect.ownKeys(Object.prototype).join()")).toBe(before);
  });

  test("in a response and in stored data set nothing", async () => {
    const polluting = '"__proto__": { "polluted": 1 }, "constructor": { "prototype": { "polluted": 1 } }';
    const { seenguard, run } = openPage();
    const storage = new MapStorage();
    const { guard } = await openGuard({ namespace: "home:ada", storage }, seenguard);
    guard.apply(run(`JSON.parse('{ "shards": [], ${polluting} }')`) as Snapshot);
    guard.apply(run(`JSON.parse('{ "shards": [], "unseen": [{ "id": "a", "at": 1, ${polluting} }] }')`) as Snapshot);
    guard.filter(run(`JSON.parse('[{ "id": "a", ${polluting} }]')`) as { id: string }[]);
    await guard.close();
    for (const key of storage.values.keys()) storage.values.set(key, `{ ${polluting} }`);
    await openGuard({ namespace: "home:ada", storage }, seenguard);
    expect(run("({}).polluted")).toBeUndefined();
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });
});

test("no error's message has an id in it", async () => {
  const ids = idsOf("secret", 6000);
  const storage = new MapStorage();
  const { guard, errors, codes } = await openGuard({ storage });
  storage.before = () => {
    throw new Error("no");
  };
  guard.record(ids);
  guard.filter(ids.map((key) => ({ key })) as never[]);
  guard.apply({ shards: ids });
  guard.apply({ shards: [], unseen: [{ id: ids[0] ?? "", at: NaN }] });
  guard.report({ url: "/report", send: () => Promise.reject(new Error("no")) });
  await guard.flush();
  await guard.deliver();
  expect(new Set(codes())).toEqual(new Set(["storage", "misuse", "too-large", "bad-snapshot", "delivery"]));
  expect(errors.filter(({ message }) => message.includes("secret"))).toEqual([]);
});
