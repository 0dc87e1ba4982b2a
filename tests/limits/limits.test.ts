/** Input that is too large, too much or crafted to be slow: it is accepted or refused with a reason, and affects nothing else. */
import { readFileSync } from "node:fs";
import { SeenGuard as SlimGuard } from "seenguard/slim";
import { ShardChain } from "seenguard/server";
import { describe, expect, onTestFinished, test } from "vitest";
import { craftedIds } from "./crafted-ids.js";
import { withMaximumMemory } from "./maximum-memory.js";
import { xxh64 } from "../support/shards.js";
import { ENGINE, idsOf, NOW, openGuard, openPage, reasonOf, refusalOf, shippedSnapshot } from "../support/node.js";

const MEGABYTE = 1 << 20;

describe.each([
  ["over 20,000 ids", idsOf("item", 20_001)],
  ["over 1 MB of ids", Array.from({ length: 1_100 }, (_, index) => "x".repeat(1_000) + String(index))],
])("a list of %s", (_, long) => {
  test("passes whole when it is filtered, which is reported once", async () => {
    const { guard, codes } = await openGuard();
    const [first = ""] = long;
    guard.record(first);
    expect(guard.filter(long)).toEqual(long);
    expect(guard.split(long)).toEqual({ fresh: long, seen: [] });
    expect(guard.feed().filter(long)).toEqual(long);
    expect(codes()).toEqual(["too-large"]);
    expect(guard.filter(long.slice(0, 1_000))).toEqual(long.slice(1, 1_000));
  });

  test("is recorded and made unseen only for its last ids", async () => {
    const { guard, codes } = await openGuard({ remember: 50_000 });
    const [first = "", last = ""] = [long[0], long.at(-1)];
    const recorded = guard.record(long);
    expect(recorded).toBeLessThan(long.length);
    expect(recorded).toBeGreaterThan(1_000);
    expect([first, last].map((id) => guard.explain(id).seen)).toEqual([false, true]);
    expect(guard.unsee(long)).toBe(recorded);
    expect(guard.explain(last).seen).toBe(false);
    expect(new Set(codes())).toEqual(new Set(["too-large"]));
  });

  test("is recorded by a chain", async () => {
    const chain = await ShardChain.create({ capacity: 30_000 });
    onTestFinished(() => chain.free());
    chain.record(long, { now: NOW });
    expect(chain.filter([...long, "new", long[0] ?? "", "new"], { now: NOW })).toEqual(["new"]);
  });
});

const readModule = () => readFileSync(new URL("../../dist/seenguard.wasm", import.meta.url));

/** Fewer open guards fill the memory. Each takes 20 times as long on the JavaScript engine. */
const GUARDS = ENGINE === "js" ? 200 : 1_000;

/** The arguments of `openGuard` for a guard whose engine has 4 MB of memory. */
function withLittleMemory(): Parameters<typeof openGuard> {
  if (ENGINE === "wasm") return [{ wasm: withMaximumMemory(readModule(), 64) } as object, { SeenGuard: SlimGuard }];
  const page = openPage(`ArrayBuffer = new Proxy(ArrayBuffer, {
    construct(target, [length]) {
      if (length > ${4 * MEGABYTE}) throw new RangeError("Array buffer allocation failed");
      return new target(length);
    },
  })`);
  return [{}, page.seenguard];
}

test("i7: a closed guard frees its memory: hundreds in turn need 4 MB", async () => {
  const [options, entry] = withLittleMemory();
  const snapshot = await shippedSnapshot(idsOf("a", 5000));
  for (let again = 0; again < GUARDS; again++) {
    const { guard, errors } = await openGuard(options, entry);
    expect(guard.apply(snapshot)).toMatchObject({ applied: true });
    expect(guard.record(idsOf("b", 20))).toBe(20);
    await guard.close();
    expect(errors).toEqual([]);
  }
});

describe("a guard without memory left", () => {
  test("i5: refuses a snapshot that does not fit, and continues", async () => {
    const { guard, codes } = await openGuard(...withLittleMemory());
    expect(guard.record(["a", "b"])).toBe(2);
    const shards = [Buffer.alloc(6 * MEGABYTE).toString("base64")];
    const { error } = refusalOf(guard.apply({ shards }));
    expect(error && reasonOf(error)).toBe("out-of-memory");
    expect(codes()).toEqual(["bad-snapshot"]);
    expect(guard.filter(["a", "b", "c"])).toEqual(["c"]);
    expect(guard.record("c")).toBe(1);
    expect(guard.pending()).toEqual(["a", "b", "c"]);
    expect(guard.stats().engine).toBe(ENGINE);
  });
});

describe("ids whose hashes share bits", () => {
  const COUNT = 20_000;

  test("are as documented", () => {
    const [id = ""] = craftedIds(1, 0x7fn);
    expect(xxh64(new TextEncoder().encode(id)) & 0x7fn).toBe(0n);
  });

  test.each([
    ["the lowest", 0x7fn],
    ["the highest", 0x7fn << 57n],
    ["those in the middle", 0x7fn << 32n],
  ])("are filtered and recorded as quickly as others: %s", async (_, mask) => {
    const crafted = craftedIds(COUNT, mask);
    const timeOf = async (ids: string[]) => {
      const { guard } = await openGuard({ remember: 50_000 });
      const begun = performance.now();
      expect(guard.filter(ids)).toHaveLength(COUNT);
      guard.record(ids);
      guard.filter(ids);
      return performance.now() - begun;
    };
    await timeOf(idsOf("warm", COUNT));
    const usual = await timeOf(idsOf("usual", COUNT));
    // Hashed into one bucket they would take 10 s.
    expect(await timeOf(crafted)).toBeLessThan(10 * usual + 500);
  });
});

describe("a list with a false length", () => {
  const lying = (claimed: unknown, items: unknown[] = ["a", "b", "a"]) =>
    new Proxy(items, {
      get: (target, name, receiver): unknown => (name === "length" ? claimed : Reflect.get(target, name, receiver)),
    }) as string[];

  test.each([2 ** 53, 2 ** 32, 1e300, Infinity, -1, NaN, 1.5, "3", null, undefined, {}, Symbol("3")])(
    "of the length %o stops nothing that is fresh, and throws nowhere",
    async (claimed) => {
      const { guard } = await openGuard();
      const feed = guard.feed();
      for (const items of [guard.filter(lying(claimed)), feed.filter(lying(claimed)), feed.admit(lying(claimed))])
        expect(items.filter((item) => typeof item === "string").sort()).toEqual(["a", "b"]);
      const chain = await ShardChain.create();
      onTestFinished(() => chain.free());
      expect(chain.filter(lying(claimed)).filter(Boolean).sort()).toEqual(["a", "b"]);
    },
  );

  test("that grows at each read ends", async () => {
    const { guard } = await openGuard();
    let length = 3;
    const growing = new Proxy(["a", "b", "c"], {
      get: (target, name, receiver): unknown => (name === "length" ? length++ : Reflect.get(target, name, receiver)),
    });
    expect(guard.filter(growing).slice(0, 3)).toEqual(["a", "b", "c"]);
    expect(guard.feed().admit(growing).slice(0, 3)).toEqual(["a", "b", "c"]);
  });
});
