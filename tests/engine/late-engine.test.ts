/** An engine that loads late or never: `open` resolves nonetheless, and recordings are queued until then. */
import * as engineJs from "seenguard/engine-js";
import type { EngineModule, GuardOptions, Report } from "seenguard";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { never } from "../support/clocks.js";
import { bareRealm, importInto } from "../support/realm.js";
import { idsOf, MapStorage, openGuard, openPage, settled, uniqueNamespace, type Package } from "../support/node.js";

const WITHOUT_WASM = "delete globalThis.WebAssembly";
/** `open` resolves within it. */
const OPEN_MS = 10_000;
const STEP_MS = 100;
/** By then the engine was requested again. */
const AGAIN_MS = 20_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
});

/** A page without Wasm, and the target of its events. */
function pageWithoutWasm(globals: object = {}): { page: Package; events: EventTarget } {
  const events = new EventTarget();
  const addEventListener = events.addEventListener.bind(events);
  const removeEventListener = events.removeEventListener.bind(events);
  return { page: openPage(WITHOUT_WASM, { addEventListener, removeEventListener, ...globals }).seenguard, events };
}

function localStorageOf(values: Map<string, string>): object {
  return {
    getItem: (key: string) => values.get(key) ?? null,
    setItem: (key: string, value: string) => values.set(key, value),
    removeItem: (key: string) => values.delete(key),
    key: (index: number) => [...values.keys()][index] ?? null,
    get length() {
      return values.size;
    },
  };
}

/** Advances the time, and runs everything that follows. */
async function pass(ms: number): Promise<void> {
  await vi.advanceTimersByTimeAsync(ms);
  await settled();
}

/** Opens a guard that has no engine within the time that `open` takes. */
async function openWithout(options: Partial<GuardOptions>, page: Package) {
  const opening = openGuard(options, page);
  const isOpen = vi.fn();
  void opening.then(isOpen);
  for (let passedMs = 0; passedMs < OPEN_MS && isOpen.mock.calls.length === 0; passedMs += STEP_MS) await pass(STEP_MS);
  expect(isOpen).toHaveBeenCalledOnce();
  const opened = await opening;
  expect(opened.codes()).toEqual(["engine"]);
  expect(opened.guard.stats().engine).toBe("none");
  expect(opened.guard.filter(["a", "b", "a"])).toEqual(["a", "b"]);
  return opened;
}

/** A `fallback` that resolves at the second request. */
function secondTime() {
  return vi.fn<() => Promise<EngineModule>>(() => Promise.resolve(engineJs)).mockImplementationOnce(never);
}

describe("a fallback that does not resolve", () => {
  test("is requested again, and then earlier impressions are recorded, with their times", async () => {
    const { page } = pageWithoutWasm();
    const fallback = secondTime();
    const { guard, codes } = await openWithout({ fallback, storage: new MapStorage() }, page);
    const sent: Report[] = [];
    const send = (report: Report) => Promise.resolve(void sent.push(report));
    guard.report({ send });
    const at = Date.now();
    expect(guard.record(["a", "b"])).toBe(0);
    expect(guard.record("elsewhere", { local: true })).toBe(0);
    await pass(1);
    expect(guard.unsee("b")).toBe(0);
    expect(guard.filter(["a"])).toEqual(["a"]);
    await pass(AGAIN_MS);
    expect(fallback).toHaveBeenCalledTimes(2);
    expect(guard.stats().engine).toBe("js");
    expect(guard.filter(["a", "b", "elsewhere", "c"])).toEqual(["b", "c"]);
    expect(guard.explain("a")).toMatchObject({ by: "pending", at: new Date(at) });
    expect(guard.explain("elsewhere")).toMatchObject({ by: "device" });
    await pass(OPEN_MS);
    const { impressions = [], unseen = [] } = sent[0] ?? {};
    expect(impressions).toEqual([{ id: "a", at }]);
    expect(unseen).toEqual([{ id: "b", at: at + 1 }]);
    expect(codes()).toEqual(["engine"]);
  });

  test("removes nothing from a list on screen when it loads late", async () => {
    const { page } = pageWithoutWasm();
    const { guard } = await openWithout({ fallback: secondTime() }, page);
    const feed = guard.feed();
    const shown = ["a", "b", "c", "d"];
    expect(feed.filter(shown)).toEqual(shown);
    guard.record(["a", "b", "c"]);
    await pass(AGAIN_MS);
    expect(guard.stats().engine).toBe("js");
    expect(feed.filter(shown)).toEqual(shown);
    feed.reset();
    expect(feed.filter(shown)).toEqual(["d"]);
  });

  test("removes nothing from a list on screen when it loads late, in a namespace that was cleared once", async () => {
    const [storage, namespace, localStorage] = [new MapStorage(), uniqueNamespace(), localStorageOf(new Map())];
    const former = openPage("", { localStorage }).seenguard;
    const visit = await openGuard({ storage, namespace }, former);
    await former.SeenGuard.clear(namespace, storage);
    visit.guard.record(["a", "b"]);
    await visit.guard.close();
    const { page } = pageWithoutWasm({ localStorage });
    const { guard } = await openWithout({ fallback: secondTime(), storage, namespace }, page);
    const feed = guard.feed();
    expect(feed.filter(["a", "b", "c"])).toEqual(["a", "b", "c"]);
    await pass(AGAIN_MS);
    expect(guard.filter(["a", "b", "c"])).toEqual(["c"]);
    expect(feed.filter(["a", "b", "c"])).toEqual(["a", "b", "c"]);
  });

  test("notifies subscribers when it loads late", async () => {
    const { page } = pageWithoutWasm();
    const { guard } = await openWithout({ fallback: secondTime() }, page);
    const listener = vi.fn();
    guard.subscribe(listener);
    guard.record("a");
    await pass(1);
    expect(listener).not.toHaveBeenCalled();
    await pass(AGAIN_MS);
    expect(guard.filter(["a"])).toEqual([]);
    expect(listener).toHaveBeenCalledTimes(1);
  });

  test("may resolve after its timeout: the engine is used", async () => {
    const { page } = pageWithoutWasm();
    let answer: (module: EngineModule) => void = () => {};
    const first = new Promise<EngineModule>((resolve) => (answer = resolve));
    const fallback = vi.fn<() => Promise<EngineModule>>(never).mockReturnValueOnce(first);
    const { guard } = await openWithout({ fallback }, page);
    guard.record("a");
    answer(engineJs);
    await pass(AGAIN_MS);
    expect(guard.filter(["a", "b"])).toEqual(["b"]);
  });

  test("is requested again when the device is online again, also where it has rejected", async () => {
    const { page, events } = pageWithoutWasm();
    const gone = () => Promise.reject(new Error("offline"));
    const fallback = vi.fn<() => Promise<EngineModule>>(() => Promise.resolve(engineJs)).mockImplementationOnce(gone);
    const { guard, codes } = await openGuard({ fallback }, page);
    expect(codes()).toEqual(["engine"]);
    guard.record("a");
    events.dispatchEvent(new Event("online"));
    await settled();
    expect(fallback).toHaveBeenCalledTimes(2);
    expect(guard.filter(["a", "b"])).toEqual(["b"]);
    events.dispatchEvent(new Event("online"));
    await pass(AGAIN_MS);
    expect(fallback).toHaveBeenCalledTimes(2);
  });

  test("queues the latest 1,000 ids", async () => {
    const { page } = pageWithoutWasm();
    const { guard } = await openWithout({ fallback: secondTime() }, page);
    for (const id of idsOf("id", 1_001)) guard.record(id);
    await pass(AGAIN_MS);
    expect(guard.filter(idsOf("id", 1_002))).toEqual(["id-0", "id-1001"]);
  });

  test("is not requested for a closed guard, whose impressions are dropped", async () => {
    const { page } = pageWithoutWasm();
    const fallback = secondTime();
    const options = { fallback, storage: new MapStorage(), namespace: uniqueNamespace() };
    const { guard } = await openWithout(options, page);
    guard.record("a");
    await guard.close();
    await pass(AGAIN_MS);
    expect(fallback).toHaveBeenCalledTimes(1);
    const again = await openGuard(options, page);
    expect(again.guard.filter(["a"])).toEqual(["a"]);
    expect(again.codes()).toEqual([]);
  });

  test("does not block clear, after which only later impressions are queued", async () => {
    const { page } = pageWithoutWasm();
    const [storage, namespace] = [new MapStorage(), uniqueNamespace()];
    const { guard } = await openWithout({ fallback: secondTime(), storage, namespace }, page);
    guard.record("before");
    await page.SeenGuard.clear(namespace, storage);
    await pass(1);
    guard.record("after");
    await pass(AGAIN_MS);
    expect(guard.filter(["before", "after"])).toEqual(["before"]);
  });

  test("is replaced by that of the next guard to open, for both", async () => {
    const { page } = pageWithoutWasm();
    const namespace = uniqueNamespace();
    const first = await openGuard({ namespace }, page);
    expect(first.codes()).toEqual(["engine"]);
    first.guard.record("a");
    const second = await openGuard({ namespace, fallback: () => Promise.resolve(engineJs) }, page);
    for (const { guard } of [first, second]) expect(guard.filter(["a", "b"])).toEqual(["b"]);
    expect(second.codes()).toEqual([]);
  });
});

test("a module of Wasm that does not arrive is fetched again", async () => {
  const { realm } = bareRealm();
  const bytes = await import("node:fs/promises").then(({ readFile }) => readFile("dist/seenguard.wasm"));
  const fetch = vi.fn<() => Promise<Response>>(() => Promise.resolve(new Response(bytes)));
  fetch.mockImplementationOnce(never);
  Object.assign(realm, {
    queueMicrotask,
    setTimeout,
    clearTimeout,
    performance,
    fetch,
    WebAssembly,
    Date,
    TextEncoder,
    TextDecoder,
  });
  const slim = importInto(realm, "slim") as Package;
  const { guard } = await openWithout({ wasm: "https://app.example/seenguard.wasm" } as object, slim);
  while (fetch.mock.calls.length < 2) await pass(STEP_MS);
  await guard.close();
});

test("a module of Wasm that is never compiled does not block `open`", async () => {
  const page = openPage("WebAssembly.instantiate = () => new Promise(() => {})").seenguard;
  const { errors } = await openWithout({}, page);
  expect(errors[0]?.message).toMatch(/loading the engine takes over 10 s/);
});
