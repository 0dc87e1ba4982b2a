/**
 * The end of a report: after `close`, `signOut`, stop or abort nothing is sent, however long the app's functions or the
 * server take; and the reports of other handles of the namespace continue.
 */
import { SeenGuard, type GuardOptions, type Report, type ReportOptions } from "seenguard";
import { describe, expect, test, vi } from "vitest";
import { idsOf, MapStorage, newPage, openGuard, uniqueNamespace } from "../support/node.js";
import { never, pass, pause, useFakeTimers } from "../support/clocks.js";

/** `close` waits this long for delivery, by docs/delivery.md. */
const CLOSE_MS = 2_000;
/** `open` takes this time at most, by docs/api.md; `durationOf` has steps of 50 ms. */
const OPEN_MS = 10_000 + 50;
const url = "https://feed.test/seen";

useFakeTimers();

/** A server whose response is that of `answer`, which may be slow. */
function serve(answer: () => Promise<{ status: number }> = () => Promise.resolve({ status: 204 })) {
  const server = { answer, requests: [] as string[][], signals: [] as (AbortSignal | null | undefined)[] };
  vi.stubGlobal("fetch", (_: string, { body, signal }: RequestInit) => {
    server.requests.push((JSON.parse(body as string) as Report).impressions.map(({ id }) => id));
    server.signals.push(signal);
    return server.answer();
  });
  return server;
}

async function reporting(options: Partial<ReportOptions> = {}, guardOptions: Partial<GuardOptions> = {}) {
  const opened = await openGuard(guardOptions);
  return { ...opened, stop: opened.guard.report({ url, ...options }) };
}

/** How long a promise takes, at most `mostMs`, in steps of 50 ms. */
async function durationOf(promise: Promise<unknown>, mostMs: number): Promise<number> {
  const [start, ends] = [performance.now(), [] as number[]];
  void promise.then(() => ends.push(performance.now() - start));
  await pass(0);
  while (ends.length === 0 && performance.now() - start < mostMs) await pass(50);
  return ends[0] ?? Infinity;
}

/** What may never resolve, and a report that waits for it. */
const silences: Record<string, (sent: (ids: string[]) => void) => ReportOptions> = {
  "a server that accepts and never answers": () => {
    serve(never);
    return { url };
  },
  "a `send` that never settles": (sent) => ({
    send: ({ impressions }) => {
      sent(impressions.map(({ id }) => id));
      return never();
    },
  }),
  "`headers` that never come": () => ({ url, headers: never }),
};

describe.each(Object.entries(silences))("%s", (_, optionsOf) => {
  test("delay `close` no longer than documented, and `deliver` no longer than its timeout", async () => {
    const { guard } = await openGuard();
    guard.report(optionsOf(() => {}));
    guard.record("a");
    expect(await durationOf(guard.deliver({ timeoutMs: 700 }), 10_000)).toBeLessThanOrEqual(2 * 700);
    expect(await durationOf(guard.close(), 10_000)).toBeLessThanOrEqual(2 * CLOSE_MS);
  });

  test("delay `signOut` no longer than its timeout and that of `close`", async () => {
    const namespace = uniqueNamespace();
    const { guard } = await openGuard({ namespace });
    guard.report(optionsOf(() => {}));
    guard.record("a");
    const signingOut = SeenGuard.signOut(namespace, { timeoutMs: 1000, storage: new MapStorage() });
    expect(await durationOf(signingOut, 20_000)).toBeLessThanOrEqual(2 * 1000);
  });
});

describe("after `close` has resolved", () => {
  test.each([
    ["headers", (headers: () => Promise<Record<string, string>>) => ({ headers })],
    ["a `fetch` of the app's that awaits its token", undefined],
  ])("nothing is sent that waited for %s", async (_, optionsOf) => {
    const server = serve();
    let comes = () => {};
    const token = new Promise<Record<string, string>>((resolve) => (comes = () => resolve({})));
    const withToken = async (input: RequestInfo | URL, init: RequestInit = {}) => {
      await token;
      init.signal?.throwIfAborted();
      return globalThis.fetch(input, init);
    };
    const { guard } = await reporting(optionsOf?.(() => token) ?? { fetch: withToken });
    guard.record("of the former person");
    expect(await durationOf(guard.close(), 10_000)).toBeLessThanOrEqual(2 * CLOSE_MS);
    comes();
    await pass(10 * 60_000);
    expect(server.requests).toEqual([]);
  });

  test("no request that a page began as it hid is sent", async () => {
    const page = new EventTarget();
    vi.stubGlobal("addEventListener", page.addEventListener.bind(page));
    vi.stubGlobal("removeEventListener", page.removeEventListener.bind(page));
    const server = serve();
    let comes = (_: Record<string, string>) => {};
    const headers = () => new Promise<Record<string, string>>((resolve) => (comes = resolve));
    const { guard } = await reporting({ headers });
    guard.record("a");
    page.dispatchEvent(new Event("pagehide"));
    await durationOf(guard.close(), 10_000);
    comes({});
    await pass(60_000);
    expect(server.requests).toEqual([]);
  });

  test("what was not sent is delivered by the next visit", async () => {
    const options = { namespace: uniqueNamespace(), storage: new MapStorage() };
    serve();
    const { guard } = await reporting({ headers: never }, options);
    guard.record("a");
    await durationOf(guard.close(), 10_000);
    const delivered: string[] = [];
    const next = await openGuard(options, newPage());
    next.guard.report({
      send: ({ impressions }) => Promise.resolve(void delivered.push(...impressions.map(({ id }) => id))),
    });
    await pass(15_000);
    expect(delivered).toEqual(["a"]);
  });

  test("a second call of `close` has not resolved earlier", async () => {
    serve(() => pause(1000).then(() => ({ status: 204 })));
    const { guard } = await reporting();
    guard.record("a");
    void guard.close();
    expect(await durationOf(guard.close(), 10_000)).toBeGreaterThanOrEqual(1000);
  });
});

describe("closing one of two handles of a namespace", () => {
  test("sends the request in progress once, and does not abort it", async () => {
    const server = serve(() => pause(3000).then(() => ({ status: 204 })));
    const namespace = uniqueNamespace();
    const { guard } = await reporting({}, { namespace });
    const { guard: other } = await reporting({}, { namespace });
    guard.record(idsOf("a", 50));
    await pass(500);
    await durationOf(other.close(), 10_000);
    await pass(60_000);
    expect(server.requests).toEqual([idsOf("a", 50)]);
    expect(server.signals.map((signal) => signal?.aborted)).toEqual([false]);
    expect(guard.stats().undelivered).toBe(0);
  });

  test("ends its report only, and a batch that waits for its headers is sent with those of the other", async () => {
    const server = serve();
    const namespace = uniqueNamespace();
    const { guard } = await reporting({}, { namespace });
    const { guard: other } = await reporting({ headers: never }, { namespace });
    guard.record("a");
    await pass(1500);
    await durationOf(other.close(), 10_000);
    expect(guard.stats().failingSince).toBeUndefined();
    await pass(5000);
    expect(server.requests).toEqual([["a"]]);
    guard.record("b");
    await pass(1000);
    expect(server.requests).toEqual([["a"], ["b"]]);
  });

  test("does not end the other's report, though it has none itself", async () => {
    const server = serve();
    const namespace = uniqueNamespace();
    const { guard } = await reporting({}, { namespace });
    const { guard: other } = await openGuard({ namespace });
    await other.close();
    guard.record("a");
    await pass(1000);
    expect(server.requests).toEqual([["a"]]);
  });
});

test("closing a handle without a report sends nothing while another handle's report waits after a failure", async () => {
  const server = serve(() => Promise.resolve({ status: 503 }));
  const namespace = uniqueNamespace();
  const { guard } = await reporting({}, { namespace });
  guard.record("a");
  await pass(1000);
  expect(server.requests).toEqual([["a"]]);
  const { guard: other } = await openGuard({ namespace });
  await other.close();
  expect(server.requests).toEqual([["a"]]);
  await pass(60_000);
  expect(server.requests.length).toBeGreaterThan(1);
});

describe("a `signal` of `report`", () => {
  test("ends it when it aborts, as stop does", async () => {
    const server = serve();
    const controller = new AbortController();
    const { guard } = await reporting({ signal: controller.signal });
    guard.record("a");
    await pass(1000);
    guard.record("b");
    controller.abort();
    await pass(60_000);
    expect(server.requests).toEqual([["a"]]);
    guard.report({ url });
    await pass(1000);
    expect(server.requests).toEqual([["a"], ["b"]]);
  });

  test("that has aborted already starts no report", async () => {
    const server = serve();
    const { guard } = await reporting({ signal: AbortSignal.abort() });
    guard.record("a");
    await pass(60_000);
    expect(server.requests).toEqual([]);
    expect(guard.stats().undelivered).toBe(1);
  });

  test("must be an AbortSignal", async () => {
    const { guard } = await openGuard();
    expect(() => guard.report({ url, signal: {} as AbortSignal })).toThrow(/signal must be an AbortSignal/);
  });
});

describe("signOut", () => {
  test("delivers, closes each handle of the namespace, and clears it", async () => {
    const server = serve();
    const options = { namespace: uniqueNamespace(), storage: new MapStorage() };
    const [{ guard }, { guard: other }] = [await reporting({}, options), await openGuard(options)];
    const { guard: foreign } = await openGuard();
    for (const each of [guard, foreign]) each.record("a");
    await SeenGuard.signOut(options.namespace);
    expect(server.requests).toEqual([["a"]]);
    for (const each of [guard, other]) {
      expect(each.stats().engine).toBe("none");
      expect(each.filter(["a"])).toEqual(["a"]);
    }
    expect(foreign.filter(["a"])).toEqual([]);
    expect([...options.storage.values.values()].join("")).toBe("");
    const { guard: next } = await openGuard(options);
    expect(next.filter(["a"])).toEqual(["a"]);
  });

  test("delays `open` no longer than documented, however long it takes", async () => {
    serve(never);
    const namespace = uniqueNamespace();
    const { guard } = await reporting({}, { namespace });
    guard.record("a");
    const signingOut = SeenGuard.signOut(namespace, { timeoutMs: 60_000 });
    await pass(0);
    expect(await durationOf(openGuard({ namespace }), 50_000)).toBeLessThanOrEqual(OPEN_MS);
    await pass(60_000);
    await signingOut;
  });

  test("closes a guard that is being opened, too", async () => {
    const options = { namespace: uniqueNamespace(), storage: new MapStorage() };
    const opening = openGuard(options);
    await SeenGuard.signOut(options.namespace);
    const { guard } = await opening;
    expect(guard.record("a")).toBe(0);
    expect(guard.stats().engine).toBe("none");
  });

  test("clears a namespace without an open guard, in the storage of its option", async () => {
    const options = { namespace: uniqueNamespace(), storage: new MapStorage() };
    const { guard } = await openGuard(options);
    guard.record("a");
    await guard.close();
    await SeenGuard.signOut(options.namespace, { storage: options.storage });
    const { guard: next } = await openGuard(options);
    expect(next.filter(["a"])).toEqual(["a"]);
  });

  test("refuses wrong options, and no namespace", async () => {
    for (const given of [["home:ada", { timeoutMs: -1 }], ["home:ada", { storage: "local" }], [""], ["a", null]])
      await expect(SeenGuard.signOut(...(given as [string]))).rejects.toMatchObject({ code: "bad-option" });
  });
});
