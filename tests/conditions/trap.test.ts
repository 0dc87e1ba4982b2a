/** A Wasm module that traps: its guards let everything pass and say so once, until the next document. */
import type { Report } from "seenguard";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { serverWith } from "../node/realm.js";
import {
  MapStorage,
  newPage,
  openGuard,
  settled,
  uniqueNamespace,
  type OpenedGuard,
  type Package,
} from "../node/support.js";
import { trappingWasm, withTrap } from "./trapping.js";

let wasm: Uint8Array<ArrayBuffer>;

beforeAll(async () => {
  wasm = await trappingWasm();
});

/** Opens a guard whose `explain` traps. */
function open(page: Package, namespace: string, storage = new MapStorage()): Promise<OpenedGuard> {
  return openGuard({ namespace, storage, wasm }, page);
}

describe("after a trap", () => {
  test("every guard of that document lets everything pass, throws nothing, and says so once", async () => {
    const page = newPage();
    const [mine, other] = [await open(page, uniqueNamespace()), await open(page, uniqueNamespace())];
    for (const { guard } of [mine, other]) {
      guard.record(["a", "b"]);
      expect(guard.filter(["a", "c"])).toEqual(["c"]);
      expect(guard.stats().engine).toBe("wasm");
    }
    const feed = mine.guard.feed();
    expect(feed.filter(["a", "c"])).toEqual(["c"]);
    await mine.guard.flush();

    expect(mine.guard.explain("a")).toEqual({ seen: false });
    for (let again = 0; again < 3; again++) {
      for (const { guard, codes } of [mine, other]) {
        expect(guard.filter(["a", "a", "c", {} as never])).toEqual(["a", "c", {}]);
        expect(guard.has("a")).toBe(false);
        expect(guard.explain("a")).toEqual({ seen: false });
        expect(guard.record(["d"])).toBe(0);
        expect(guard.apply({ shards: [] })).toMatchObject({ applied: false, reason: "no-engine" });
        expect(guard.pending()).toEqual([]);
        expect(guard.pendingShard()).toBe("");
        expect(guard.version).toBeUndefined();
        expect(guard.stats()).toMatchObject({ engine: "none", pending: 0, remembered: 0 });
        expect(guard.feed().admit(["a", "c"])).toEqual(["a", "c"]);
        await guard.flush();
        expect(codes()).toEqual(["trap"]);
      }
    }
    expect(mine.errors[0]?.message).toMatch(/unreachable/);
    // What a feed had decided stands.
    expect(feed.filter(["a", "c", "d"])).toEqual(["c", "d"]);
    for (const { guard } of [mine, other]) await guard.close();
  });

  test("a new open in the same document lets everything pass, too, and says why", async () => {
    const [page, namespace, storage] = [newPage(), uniqueNamespace(), new MapStorage()];
    const old = await open(page, namespace, storage);
    old.guard.record("a");
    await old.guard.flush();
    old.guard.explain("a");
    for (let again = 0; again < 2; again++) {
      const { guard, codes } = await open(page, namespace, storage);
      expect(codes()).toEqual(["trap"]);
      expect(guard.filter(["a", "b"])).toEqual(["a", "b"]);
      expect(guard.stats().engine).toBe("none");
      await guard.close();
    }
    // A page may sign out all the same.
    await page.SeenGuard.clear(namespace, storage);
    expect([...storage.values.keys()].filter((key) => key.includes("/s/"))).toEqual([]);
  });

  test("the next document goes on with what was stored, and may trap again", async () => {
    const [namespace, storage] = [uniqueNamespace(), new MapStorage()];
    const all: string[] = [];
    for (let again = 0; again < 3; again++) {
      const { guard, codes } = await open(newPage(), namespace, storage);
      expect(guard.stats().engine).toBe("wasm");
      expect(guard.filter([...all, "new"])).toEqual(["new"]);
      expect(guard.pending()).toEqual(all);
      guard.record(`of visit ${String(again)}`);
      all.push(`of visit ${String(again)}`);
      await guard.flush();
      expect(codes()).toEqual([]);
      guard.explain("a");
      expect(codes()).toEqual(["trap"]);
    }
  });

  test("a report sends nothing more, and one of the next document delivers what was left", async () => {
    const [namespace, storage] = [uniqueNamespace(), new MapStorage()];
    const sent: string[][] = [];
    const send = ({ impressions }: Report) => {
      sent.push(impressions.map(({ id }) => id));
      return Promise.resolve();
    };
    const old = await open(newPage(), namespace, storage);
    old.guard.report({ url: "/", send, intervalMs: 20 });
    old.guard.record(["a"]);
    await old.guard.flush();
    old.guard.explain("a");
    const { guard } = await open(newPage(), namespace, storage);
    guard.report({ url: "/", send, intervalMs: 20 });
    await expect.poll(() => sent).toEqual([["a"]]);
  });

  test("nothing of the old module is freed, which would trap again", async () => {
    const uncaught: unknown[] = [];
    const onUncaught = (error: unknown) => uncaught.push(error);
    process.on("uncaughtException", onUncaught);
    onTestFinished(() => void process.off("uncaughtException", onUncaught));
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const page = newPage();
    await trapAndLeave(page);
    for (let again = 0; again < 5; again++) {
      collect();
      await settled();
    }
    expect(uncaught).toEqual([]);
    expect(page.SeenGuard).toBeDefined();
  });
});

test("after a trap on a server, everything but to be freed throws", async () => {
  const { NearDuplicates, ShardChain, simhash } = serverWith((wasm) => withTrap(wasm, "nearduplicates_groupOf"));
  const near = await NearDuplicates.create();
  const chain = await ShardChain.create();
  const fingerprint = simhash(["a"]);
  const trap = expect.objectContaining({ code: "trap" }) as Error;
  for (let again = 0; again < 2; again++) {
    expect(() => near.groupOf(fingerprint, "a")).toThrow(trap);
    expect(() => simhash(["a"])).toThrow(trap);
    expect(() => chain.record("a")).toThrow(trap);
    await expect(NearDuplicates.create()).rejects.toMatchObject({ code: "trap" });
  }
  near.free();
  chain.free();
});

/** A guard that traps, and that nobody refers to afterwards. */
async function trapAndLeave(page: Package): Promise<void> {
  const { guard } = await open(page, uniqueNamespace());
  guard.record("a");
  guard.explain("a");
  await guard.close();
}
