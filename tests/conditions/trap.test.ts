/**
 * A Wasm instance that traps: its guards let everything pass and say so once, and whoever opens next gets a new
 * instance.
 */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { SeenGuard, type SeenGuardError } from "seenguard/slim";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { MapStorage, settled, uniqueNamespace } from "../node/support.js";
import { trappingWasm } from "./trapping.js";

let wasm: Uint8Array<ArrayBuffer>;

beforeAll(async () => {
  wasm = await trappingWasm();
});

async function open(namespace: string, storage: MapStorage) {
  const errors: SeenGuardError[] = [];
  const onError = (error: SeenGuardError) => errors.push(error);
  const guard = await SeenGuard.open({ namespace, storage, onError, wasm });
  onTestFinished(() => guard.close());
  return { guard, codes: () => errors.map(({ code }) => code), errors };
}

describe("after a trap", () => {
  test("every guard of that instance lets everything pass, throws nothing, and says so once", async () => {
    const [mine, other] = [
      await open(uniqueNamespace(), new MapStorage()),
      await open(uniqueNamespace(), new MapStorage()),
    ];
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

  test("a new open works on a new instance, with what was stored, and may trap again", async () => {
    const [namespace, storage] = [uniqueNamespace(), new MapStorage()];
    const all: string[] = [];
    for (let again = 0; again < 3; again++) {
      const { guard, codes } = await open(namespace, storage);
      expect(guard.stats().engine).toBe("wasm");
      expect(guard.filter([...all, "new"])).toEqual(["new"]);
      expect(guard.pending()).toEqual(all);
      guard.record(`of visit ${String(again)}`);
      all.push(`of visit ${String(again)}`);
      await guard.flush();
      expect(codes()).toEqual([]);
      guard.explain("a");
      expect(codes()).toEqual(["trap"]);
      // The one that trapped is left open: it must not be in the way.
    }
    const { guard } = await open(namespace, storage);
    expect(guard.filter([...all, "new"])).toEqual(["new"]);
  });

  test("closing the old guard takes nothing from the new one of the same namespace", async () => {
    const [namespace, storage] = [uniqueNamespace(), new MapStorage()];
    const old = await open(namespace, storage);
    old.guard.record("a");
    await old.guard.flush();
    old.guard.explain("a");
    const { guard } = await open(namespace, storage);
    await old.guard.close();
    const again = await open(namespace, storage);
    again.guard.record("b");
    expect(guard.filter(["a", "b", "c"])).toEqual(["c"]);
    expect(guard.stats()).toMatchObject({ engine: "wasm", storage: "custom" });
  });

  test("a report of the old guard sends nothing more, and one of the new guard delivers what was left", async () => {
    const [namespace, storage] = [uniqueNamespace(), new MapStorage()];
    const sent: string[][] = [];
    const send = (ids: readonly { id: string }[]) => {
      sent.push(ids.map(({ id }) => id));
      return Promise.resolve();
    };
    const old = await open(namespace, storage);
    old.guard.report({ url: "/", send, intervalMs: 20 });
    old.guard.record(["a"]);
    await old.guard.flush();
    old.guard.explain("a");
    const { guard } = await open(namespace, storage);
    guard.report({ url: "/", send, intervalMs: 20 });
    await expect.poll(() => sent).toEqual([["a"]]);
  });

  test("freeing what is left of the old instance disturbs nobody", async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const namespace = uniqueNamespace();
    await trapAndLeave(namespace);
    for (let again = 0; again < 5; again++) {
      collect();
      await settled();
    }
    const { guard } = await open(namespace, new MapStorage());
    guard.record("b");
    expect(guard.filter(["b", "c"])).toEqual(["c"]);
  });
});

/** A guard that traps, and that nobody refers to afterwards. */
async function trapAndLeave(namespace: string): Promise<void> {
  const { guard } = await open(namespace, new MapStorage());
  guard.record("a");
  guard.explain("a");
  await guard.close();
}
