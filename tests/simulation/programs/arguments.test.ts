/**
 * Whatever is passed: nothing but wrong options throws, what throws is a `SeenGuardError` with a stable code, and the
 * engines work as before.
 */
import { SeenGuardError } from "seenguard";
import { NearDuplicates } from "seenguard/near-duplicates";
import * as server from "seenguard/server";
import { openTestGuard } from "seenguard/testing";
import { readFileSync } from "node:fs";
import fc from "fast-check";
import { afterAll, beforeAll, expect, vi } from "vitest";
import { ENGINE, fallback, NOW, ON_ENGINE } from "../../support/node.js";
import { calls, setShard, type Scene } from "./calls.js";
import { change, changed, type Change } from "./hostile.js";
import { countCommands, runPrograms } from "./programs.js";

/** All codes that the declarations list. */
const declarations = readFileSync(new URL("../../../js/types/seenguard.d.ts", import.meta.url), "utf8");
const codes = new Set(declarations.slice(declarations.indexOf("type ErrorCode")).match(/(?<=\| ")[a-z0-9-]+(?=")/g));

/** Errors that the app's own callbacks have thrown. They become uncaught errors of the app. */
const ofTheApp = vi.fn();

beforeAll(async () => {
  const chain = await server.ShardChain.create({ ttlSeconds: 86_400 });
  chain.record("in the shard", { now: NOW });
  setShard(chain.snapshot({ now: NOW }).shards[0] ?? "");
  chain.free();
  vi.spyOn(console, "warn").mockImplementation(() => {});
  vi.stubGlobal("queueMicrotask", (run: () => void) => void Promise.resolve().then(run).catch(ofTheApp));
});
afterAll(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

interface Step {
  readonly name: string;
  readonly changes: readonly Change[];
}

const steps = fc.array(
  fc.record({ name: fc.constantFrom(...Object.keys(calls)), changes: fc.array(change, { maxLength: 2 }) }),
  { minLength: 1, maxLength: 6 },
);

function assertError(error: unknown): void {
  const { code, message, constructor } = error as SeenGuardError;
  expect(constructor).toBe(SeenGuardError);
  expect(codes).toContain(code);
  expect(message).toEqual(expect.any(String));
}

async function newScene(): Promise<Scene & { close(): Promise<void> }> {
  const guards: { close(): Promise<void> }[] = [];
  const onError = (error: SeenGuardError) => assertError(error);
  const guard = await openTestGuard({ now: NOW * 1000, fallback, ...ON_ENGINE, onError });
  const chain = await server.ShardChain.create();
  const near = await NearDuplicates.create();
  return {
    ...{ guard, chain, near, feed: guard.feed(), store: server.memoryStore(), opened: (one) => guards.push(one) },
    close: async () => {
      await Promise.all([guard, ...guards].map((one) => one.close()));
      chain.free();
      near.free();
    },
  };
}

async function take(scene: Scene, { name, changes }: Step): Promise<void> {
  const call = calls[name];
  if (!call) throw new Error(`there is no call ${name}`);
  const all = changed(call.arguments(), changes) as never[];
  countCommands();
  try {
    await call.run(scene, ...all);
  } catch (error) {
    if (!call.refuses) throw error;
    assertError(error);
  }
}

/** Both engines still work. */
function assertUsable({ guard, chain, near }: Scene): void {
  expect(guard.stats().engine).toBe(ENGINE);
  guard.record("recorded at the end");
  expect(guard.filter(["recorded at the end", "never recorded"])).toEqual(["never recorded"]);
  chain.record("recorded at the end", { now: NOW });
  expect(chain.has("recorded at the end", { now: NOW })).toBe(true);
  expect(near.groupOf("fedcba9876543210", "at the end")).toEqual(expect.any(String));
}

runPrograms("strange arguments", () =>
  fc.asyncProperty(steps, async (program) => {
    const scene = await newScene();
    try {
      for (const step of program) await take(scene, step);
      assertUsable(scene);
    } finally {
      await scene.close();
    }
  }),
);
