/** The number of a store's calls into Wasm. */
import { memoryStore, redisStore, type SeenStore } from "seenguard/server";
import { expect, test } from "vitest";
import { Device } from "../../support/shards.ts";

let crossings = 0;

/** Counts every call of a function that an instance exports. */
function countCalls(): void {
  const { Instance } = WebAssembly;
  const counted = (module: WebAssembly.Module, imports: WebAssembly.Imports) => {
    const exports: Record<string, WebAssembly.ExportValue> = {};
    for (const [name, value] of Object.entries(new Instance(module, imports).exports)) {
      exports[name] = value;
      if (typeof value !== "function") continue;
      exports[name] = (...given: unknown[]): unknown => {
        crossings++;
        return (value as (...given: unknown[]) => unknown)(...given);
      };
    }
    return { exports };
  };
  // The function returns an object, which `new` then yields.
  WebAssembly.Instance = function (module: WebAssembly.Module, imports: WebAssembly.Imports) {
    return counted(module, imports);
  } as unknown as typeof WebAssembly.Instance;
}

/** A client that responds like a Redis without data of the user. */
const client = {
  evalsha: (_script: string, keyCount: number) =>
    Promise.resolve(keyCount === 3 ? [[], [], "0", [], "", "1764000000000"] : 1),
  eval: () => Promise.reject(new Error("it has all scripts")),
};

const stores: [string, () => SeenStore][] = [
  ["memoryStore", memoryStore],
  ["redisStore", () => redisStore(client)],
];

test.each(stores)("an ingest into %s crosses into Wasm at most 6 times", async (_, open) => {
  if (crossings === 0) countCalls();
  const store = open();
  const { pending: _pending, ...report } = new Device("home:ada", 1).report(["a", "b"]);
  const received = { ...report, receivedAt: report.now, unseen: [] };
  // The first call starts the engine.
  await store.ingest("ada", received);
  crossings = 0;
  expect(await store.ingest("eve", received)).toBe(2);
  expect(crossings).toBeGreaterThan(0);
  expect(crossings).toBeLessThanOrEqual(6);
  const first = crossings;
  await store.ingest("bob", received);
  expect(crossings - first).toBeLessThanOrEqual(6);
});
