/** Limits and promises of a store, over backends in memory: clocks, reads in progress, sizes. */
import { memoryBackend, memoryStore, seenStore, type Backend, type Loaded, type Report } from "seenguard/server";
import { describe, expect, test, vi } from "vitest";
import { fakeTimers } from "../../support/clocks.js";
import { Device } from "../../support/shards.ts";

const HOUR = 3_600;
const POOL = ["a", "b", "c"];
const never = new Promise<never>(() => undefined);

/** A backend in memory with replaced methods. */
function backendWith(others: Partial<Backend>): Backend {
  const inner = memoryBackend();
  return {
    load: (...given) => inner.load(...given),
    storePending: (...given) => inner.storePending(...given),
    replace: (...given) => inner.replace(...given),
    forget: (...given) => inner.forget(...given),
    ...others,
  };
}

/** A backend whose shared clock is this number of seconds ahead of this process's. */
function withClock(aheadSeconds: number): Backend {
  const inner = memoryBackend();
  const now = () => Date.now() / 1000 + aheadSeconds;
  return backendWith({
    load: async (...given): Promise<Loaded> => ({ ...(await inner.load(...given)), now: now() }),
    storePending: async (...given) => {
      await inner.storePending(...given);
      return now();
    },
    replace: (...given) => inner.replace(...given),
    forget: (...given) => inner.forget(...given),
  });
}

describe.each([
  ["behind", HOUR],
  ["ahead", -HOUR],
])("on a server whose clock is an hour %s the store's", (_, aheadSeconds) => {
  test("an impression counts that is reported after the history was deleted", async () => {
    const backend = withClock(aheadSeconds);
    await seenStore(backend).forget("ada");
    // Another process, without a response of the store's clock yet.
    const store = seenStore(backend);
    fakeTimers({ toFake: ["Date"], now: Date.now() + 2_000 });
    const report = await store.accept("ada", new Device("home:ada", 1).report(["a"]));
    expect(Math.abs(report.receivedAt / 1000 - (Date.now() / 1000 + aheadSeconds))).toBeLessThan(2);
    expect(report.impressions[0]?.at).toBe(report.receivedAt);
    expect(await store.ingest("ada", report)).toBe(1);
    expect((await store.page("ada", POOL, { size: 3 })).items).toEqual(["b", "c"]);
  });

  test("an impression counts that is reported after its id became unseen", async () => {
    const backend = withClock(aheadSeconds);
    const first = seenStore(backend);
    await first.update("ada", (chain) => chain.record("a"));
    await first.unsee("ada", "a");
    const store = seenStore(backend);
    fakeTimers({ toFake: ["Date"], now: Date.now() + 2_000 });
    await store.ingest("ada", await store.accept("ada", new Device("home:ada", 1).report(["a"])));
    expect((await store.page("ada", POOL, { size: 3 })).items).toEqual(["b", "c"]);
  });
});

test("a backend that never responds delays no page for longer than the deadline", async () => {
  let hangs = true;
  const inner = memoryBackend();
  const backend = backendWith({ load: (...given) => (hangs ? never : inner.load(...given)) });
  const store = seenStore(backend, { patienceMs: 10, deadlineMs: 3_000, onError: () => undefined });
  const page = () => store.page("ada", POOL, { size: 3 });
  await Promise.all(Array.from({ length: 1_100 }, page));
  hangs = false;
  expect(await page()).toMatchObject({ degraded: true });
  await vi.waitUntil(async () => !(await page()).degraded, { timeout: 10_000, interval: 50 });
});

test("a response after the deadline changes nothing", async () => {
  let answer: () => void = () => undefined;
  const late = new Promise<void>((resolve) => (answer = resolve));
  const inner = memoryBackend();
  const replace = vi.fn((...given: Parameters<Backend["replace"]>) => inner.replace(...given));
  const load = async (...given: Parameters<Backend["load"]>) => late.then(() => inner.load(...given));
  const store = seenStore(backendWith({ load, replace }), { deadlineMs: 20 });
  await expect(store.update("ada", (chain) => chain.record("a"))).rejects.toMatchObject({ code: "storage" });
  answer();
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(replace).not.toHaveBeenCalled();
});

test("at the deadline a call rejects with the latest refusal, unless a write may have been done", async () => {
  const refusal = new Error("no writes here");
  const causeOf = async (hangs: "load" | "replace") => {
    const inner = memoryBackend();
    let refused = 0;
    const backend = backendWith({
      load: (...given) => (hangs === "load" && refused > 0 ? never : inner.load(...given)),
      replace: () => (refused++ === 0 ? Promise.reject(refusal) : never),
    });
    const store = seenStore(backend, { deadlineMs: 1_000 });
    const failed: unknown = await store.update("ada", (chain) => chain.record("a")).catch((error: unknown) => error);
    return (failed as Error).cause;
  };
  expect(await Promise.all([causeOf("load"), causeOf("replace")])).toEqual([
    refusal,
    expect.objectContaining({ message: expect.stringContaining("not responded") as string }),
  ]);
});

test("memoryStore removes the least recently used of more than 100,000 users", async () => {
  const store = memoryStore();
  const report = (user: string): Report => new Device(`home:${user}`, 1).report(["a"]);
  const isKnown = async (user: string) => (await store.page(user, ["a"], { size: 1 })).items.length === 0;
  for (let user = 0; user <= 100_000; user++) {
    const name = `user-${String(user)}`;
    await store.accept(name, report(name));
    if (user === 50_000) expect(await isKnown("user-0")).toBe(true);
  }
  expect(await isKnown("user-1")).toBe(false);
  expect(await isKnown("user-0")).toBe(true);
  expect(await isKnown("user-100000")).toBe(true);
});

test("accept refuses a report of more than 256 KB, as a string and parsed", async () => {
  const store = memoryStore();
  const ids = (length: number) => Array.from({ length: 100 }, (_, index) => String(index).padEnd(length, "x"));
  for (const form of [JSON.stringify, (report: unknown) => report, (report: unknown) => bytesOf(report)]) {
    const refused = store.accept("ada", form(new Device("home:ada", 1).report(ids(2_700))));
    await expect(refused).rejects.toMatchObject({ code: "too-large" });
    const { impressions } = await store.accept("ada", form(new Device("home:ada", 1).report(ids(2_400))));
    expect(impressions).toHaveLength(100);
  }
});

const bytesOf = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

test("impressions of a report without a usable pending list are left out of pages before the stream delivers them", async () => {
  const store = memoryStore({ namespaceOf: (user) => `home:${user}` });
  const [phone, stranger] = [new Device("home:ada", 1), new Device("home:bob", 2)];
  const ids = ["a", "b", "c", "d", "e"];
  const unusable = [undefined, "what is this", ".1.0.AAAA", stranger.pending(["x"])];
  for (const [index, pending] of unusable.entries()) {
    const { pending: _, ...report } = phone.report(ids.slice(index, index + 1));
    await store.accept("ada", { ...report, ...(pending !== undefined && { pending }) });
  }
  const page = async () => (await store.page("ada", ids, { size: 5 })).items;
  expect(await page()).toEqual(["e"]);
  expect((await store.read("ada")).has("a")).toBe(false);
  // Devices with lists of their own do not evict it.
  for (let number = 3; number < 20; number++)
    await store.page("ada", ids, { size: 1, pending: new Device("home:ada", number).pending(["x"]) });
  expect(await page()).toEqual(["e"]);
  await store.forget("ada");
  expect(await page()).toEqual(ids);
});
