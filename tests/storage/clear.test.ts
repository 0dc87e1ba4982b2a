/**
 * `SeenGuard.clear` and what hears of it: in a document without an engine, across pages by the signal in localStorage,
 * by a look where there is none, and before anything is delivered.
 */

import type { SeenStorage } from "seenguard";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { highestOf, nameOf, under } from "../../js/storage/keys.js";
import {
  idsOf,
  MapStorage,
  newPage,
  openGuard,
  openPage,
  settled,
  stubLocalStorage,
  uniqueNamespace,
} from "../support/node.js";

const DAY_MS = 86_400_000;
const SIGNAL = /^[0-9a-z]{11}\.[0-9a-z]{8}$/;

/** Records ids in a page of its own. */
async function visit(storage: SeenStorage | "local", namespace: string, ids: string[], globals = {}): Promise<void> {
  const { guard } = await openGuard({ storage, namespace }, newPage(globals));
  guard.record(ids);
  await guard.close();
}

/** The ids of these that a new page does not stop. */
async function fresh(storage: SeenStorage | "local", namespace: string, ids: string[], globals = {}) {
  const { guard } = await openGuard({ storage, namespace }, newPage(globals));
  const passed = guard.filter(ids);
  await guard.close();
  return passed;
}

/** A storage of the same content that never answers. */
function silent(): SeenStorage {
  const never = () => new Promise<never>(() => {});
  return { get: never, set: never, remove: never, keys: never };
}

function useFakeTimers(): void {
  vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
}

describe("without an engine", () => {
  const withoutEngine = () => openPage("WebAssembly = undefined").seenguard;

  test("a namespace is cleared over a store of the app's own, and no other", async () => {
    const [storage, namespace, other] = [new MapStorage(), uniqueNamespace(), uniqueNamespace()];
    for (const each of [namespace, other]) await visit(storage, each, ["a"]);
    const before = Date.now();
    await withoutEngine().SeenGuard.clear(namespace, storage);
    const keys = storage.keys().filter((key) => key.includes(`/${namespace}/`));
    const number = highestOf(keys, nameOf(namespace));
    expect(number).toBeGreaterThanOrEqual(before);
    expect(keys).toEqual([`${under(nameOf(namespace), number)}m`]);
    expect(storage.get(keys[0] ?? "")).toBe(String(Math.floor(before / DAY_MS)));
    expect(await fresh(storage, namespace, ["a"])).toEqual(["a"]);
    expect(await fresh(storage, other, ["a"])).toEqual([]);
  });
});

describe("this document", () => {
  test("keeps impressions of a guard that it opens during a clear", async () => {
    for (const hasSignal of [true, false]) {
      const [storage, namespace] = [new MapStorage(), uniqueNamespace()];
      const page = newPage(hasSignal ? stubLocalStorage() : {});
      await visit(storage, namespace, ["before"]);
      // Its answers are late, one by one.
      const late = async <T>(act: () => T): Promise<T> => {
        await new Promise((resolve) => setTimeout(resolve, 5));
        return act();
      };
      const slow: SeenStorage = {
        get: (key) => late(() => storage.get(key)),
        set: (key, value) => late(() => storage.set(key, value)),
        remove: (key) => late(() => storage.remove(key)),
        keys: () => late(() => storage.keys()),
      };
      const clearing = page.SeenGuard.clear(namespace, slow);
      const { guard } = await openGuard({ storage: slow, namespace }, page);
      guard.record("after");
      expect(guard.filter(["before", "after"])).toEqual(["before"]);
      await clearing;
      await guard.close();
      expect(await fresh(storage, namespace, ["before", "after"])).toEqual(["before"]);
      vi.unstubAllGlobals();
    }
  });
});

describe("by the signal in localStorage", () => {
  test("a localStorage that is full takes it: rows of the namespace make room", async () => {
    const globals = stubLocalStorage();
    const { localStorage } = globals;
    const namespace = uniqueNamespace();
    await visit("local", namespace, idsOf("a", 50), globals);
    localStorage.removeItem(`seenguard-signal/${namespace}`);
    const set = localStorage.setItem.bind(localStorage);
    const size = () =>
      Object.keys(localStorage).reduce((sum, key) => sum + (localStorage.getItem(key)?.length ?? 0), 0);
    const room = size();
    Object.defineProperty(localStorage, "setItem", {
      value: (key: string, value: string) => {
        if (size() + value.length > room) throw new DOMException("no room", "QuotaExceededError");
        set(key, value);
      },
    });
    await newPage(globals).SeenGuard.clear(namespace, "local");
    expect(localStorage.getItem(`seenguard-signal/${namespace}`)).toMatch(SIGNAL);
    expect(await fresh("local", namespace, idsOf("a", 50), globals)).toEqual(idsOf("a", 50));
  });
});

test("in localStorage alone a clear leaves the signal and the day", async () => {
  const globals = stubLocalStorage();
  const namespace = uniqueNamespace();
  await visit("local", namespace, idsOf("secret", 50), globals);
  expect(await fresh("local", namespace, ["secret-1", "b"], globals)).toEqual(["b"]);
  await newPage(globals).SeenGuard.clear(namespace, "local");
  const keys = Object.keys(globals.localStorage);
  expect(keys.map((key) => key.replace(/[0-9a-z]{11}\/m$/, "m")).toSorted()).toEqual([
    `seenguard-signal/${namespace}`,
    `seenguard/${namespace}/m`,
  ]);
});

describe("delivery", () => {
  /** Bodies that went out by `fetch`. */
  function stubFetch(): string[] {
    const bodies: string[] = [];
    vi.stubGlobal("fetch", (_: string, { body }: { body: string }) => {
      bodies.push(body);
      return Promise.resolve(new Response());
    });
    onTestFinished(() => {
      vi.unstubAllGlobals();
    });
    return bodies;
  }

  test("where there is no localStorage looks before, once a minute, and says nothing that was cleared", async () => {
    useFakeTimers();
    const bodies = stubFetch();
    const [storage, namespace] = [new MapStorage(), uniqueNamespace()];
    const { guard } = await openGuard({ storage, namespace });
    guard.report({ url: "https://feed.test/impressions", intervalMs: 1_000 });
    guard.record("a");
    await settled();
    await newPage().SeenGuard.clear(namespace, storage);
    let looks = 0;
    storage.before = (operation) => {
      looks += Number(operation === "keys");
    };
    await vi.advanceTimersByTimeAsync(1_000);
    expect([bodies, looks]).toEqual([[], 1]);
    // A pass looks, too, soon after `open`.
    await vi.advanceTimersByTimeAsync(5_000);
    looks = 0;
    for (let again = 0; again < 5; again++) {
      guard.record(`later-${String(again)}`);
      await vi.advanceTimersByTimeAsync(1_100);
    }
    expect([bodies.length, looks]).toEqual([5, 0]);
    await vi.advanceTimersByTimeAsync(60_000);
    guard.record("a minute later");
    await vi.advanceTimersByTimeAsync(1_100);
    expect([bodies.length, looks]).toEqual([6, 1]);
  });

  test("does not wait for a store that does not answer for more than a second", async () => {
    useFakeTimers();
    const bodies = stubFetch();
    const storage = new MapStorage();
    const { guard } = await openGuard({ storage });
    guard.report({ url: "https://feed.test/impressions", intervalMs: 3_600_000 });
    guard.record("a");
    await settled();
    Object.assign(storage, silent());
    const delivering = guard.flush();
    await vi.advanceTimersByTimeAsync(999);
    expect(bodies).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(bodies).toHaveLength(1);
    // The rest is the wait for what is to be stored.
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await delivering).toEqual({ delivered: 1, left: 0 });
  });
});

describe("an idle namespace", () => {
  /** Opens a namespace in localStorage on some day, long enough for what is done beside. */
  async function open(namespace: string, day: number, ids: string[] = [], windowDays = 30): Promise<void> {
    vi.setSystemTime(1_764_000_000_000 + day * DAY_MS);
    const { guard } = await openGuard({ storage: "local", namespace, windowDays });
    guard.record(ids);
    await vi.advanceTimersByTimeAsync(3_000);
    await guard.close();
    await settled();
  }

  function begin(): object {
    vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"] });
    onTestFinished(() => {
      vi.useRealTimers();
    });
    return stubLocalStorage().localStorage;
  }

  test("and that was cleared in vain is cleared at the next open of another", async () => {
    const localStorage = begin() as Storage;
    await open("left", 0, ["a"]);
    const rows = Object.keys(localStorage).filter((key) => key.startsWith("seenguard/left/"));
    expect(rows.length).toBeGreaterThan(1);
    localStorage.setItem("seenguard-signal/left", `${under("", Date.now() + 1).split("/")[2] ?? ""}.01234567`);
    await open("own", 0);
    expect(Object.keys(localStorage).filter((key) => rows.includes(key))).toEqual([]);
  });
});
