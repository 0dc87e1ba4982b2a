/** A module that traps: its guards let everything pass and say so once, until the next document. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { SeenGuard, type SeenGuardError } from "seenguard/slim";
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { MapStorage, newPage, openGuard, settled, uniqueNamespace, type Package } from "../node/support.js";
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

  test("whoever opens later in this document is told, and everything passes there, too", async () => {
    const [namespace, storage] = [uniqueNamespace(), new MapStorage()];
    const { guard, codes } = await open(namespace, storage);
    expect(codes()).toEqual(["trap"]);
    expect(guard.stats().engine).toBe("none");
    expect(guard.record("a")).toBe(0);
    expect(guard.filter(["a", "b", "a"])).toEqual(["a", "b"]);
    await guard.close();
    expect(storage.values.size).toBe(0);
  });

  test("what is left of the instance is freed without a further word", async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const uncaught: unknown[] = [];
    const listen = (error: unknown) => uncaught.push(error);
    process.on("uncaughtException", listen);
    await trapAndLeave(uniqueNamespace());
    for (let again = 0; again < 5; again++) {
      collect();
      await settled();
    }
    process.off("uncaughtException", listen);
    expect(uncaught).toEqual([]);
  });
});

describe("in the next document", () => {
  test("what was stored before the trap is stopped and delivered", async () => {
    const [namespace, storage] = [uniqueNamespace(), new MapStorage()];
    const sent: string[][] = [];
    const send = (impressions: readonly { id: string }[]) => {
      sent.push(impressions.map(({ id }) => id));
      return Promise.resolve();
    };
    const trapped = await openGuard({ namespace, storage, wasm }, await newDocument());
    trapped.guard.report({ url: "/", send, intervalMs: 20 });
    trapped.guard.record(["a"]);
    await trapped.guard.flush();
    trapped.guard.explain("a");
    expect(trapped.codes()).toEqual(["trap"]);

    const { guard, codes } = await openGuard({ namespace, storage }, newPage());
    expect(guard.filter(["a", "b"])).toEqual(["b"]);
    guard.report({ url: "/", send, intervalMs: 20 });
    await expect.poll(() => sent).toEqual([["a"]]);
    expect(codes()).toEqual([]);
  });
});

/** A guard that traps, and that nobody refers to afterwards. */
async function trapAndLeave(namespace: string): Promise<void> {
  const { guard } = await open(namespace, new MapStorage());
  guard.record("a");
  guard.explain("a");
  await guard.close();
}

/** The package once more, with a module of its own. */
async function newDocument(): Promise<Package> {
  return (await import(`${import.meta.resolve("seenguard/slim")}?${uniqueNamespace()}`)) as Package;
}
