/**
 * Reports under servers that hang, refuse or redirect, custom transports, and events of a page: none of these stops
 * delivery, or loses or repeats an impression.
 */
import { SeenGuard, type GuardOptions, type Report, type ReportOptions } from "seenguard";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { idsOf, MapStorage, newPage, openGuard, uniqueNamespace } from "../support/node.js";
import { never, pass, pause, useFakeTimers } from "../support/clocks.js";
import { newTrappingPage } from "../engine/trapping.js";

const MINUTE_MS = 60_000;
const url = "https://feed.test/impressions";

useFakeTimers();

/** A server that accepts what `answer` does not refuse. */
function serve(answer: (ids: string[]) => Partial<Response> | Promise<Partial<Response>> = () => ({ status: 204 })) {
  const server = {
    answer,
    /** The ids of each request. */
    requests: [] as string[][],
    inits: [] as RequestInit[],
    /** The ids that were acknowledged with 204, in their order. */
    accepted: [] as string[],
    fetch: async (_: unknown, init: RequestInit = {}) => {
      const { impressions, unseen = [] } = JSON.parse(init.body as string) as Report;
      const ids = [...impressions, ...unseen].map(({ id }) => id);
      server.requests.push(ids);
      server.inits.push(init);
      const response = await server.answer(ids);
      if (response.status === 204) server.accepted.push(...ids);
      return response as Response;
    },
  };
  vi.stubGlobal("fetch", server.fetch);
  return server;
}

async function reporting(options: Partial<ReportOptions> = {}, guardOptions: Partial<GuardOptions> = {}) {
  const opened = await openGuard(guardOptions);
  return { ...opened, stop: opened.guard.report({ url, ...options }) };
}

/** The events of the page that a test is. */
let page: EventTarget;
beforeEach(() => {
  page = new EventTarget();
  Object.assign(globalThis, {
    addEventListener: page.addEventListener.bind(page),
    removeEventListener: page.removeEventListener.bind(page),
  });
});
const dispatch = (type: string) => page.dispatchEvent(new Event(type));

const messages = (errors: readonly { message: string }[]) => errors.map(({ message }) => message);

describe("a request that hangs", () => {
  test("is the only one, is aborted after 30 s, whether it respects its signal or not, and tried again", async () => {
    const server = serve(never);
    const { guard, codes } = await reporting();
    guard.record("a");
    await pass(1000);
    guard.record(idsOf("more", 200));
    await pass(29_999);
    expect(server.requests).toHaveLength(1);
    expect(server.inits[0]?.signal?.aborted).toBe(false);
    expect(guard.stats().failingSince).toBeUndefined();
    await pass(1);
    expect(server.inits[0]?.signal?.aborted).toBe(true);
    expect(codes()).toEqual(["delivery"]);
    server.answer = () => ({ status: 204 });
    await pass(1100);
    expect(server.accepted).toEqual(["a", ...idsOf("more", 200)]);
  });

  test("of `send` aborts its signal", async () => {
    const signals: AbortSignal[] = [];
    const send: NonNullable<ReportOptions["send"]> = (_, __, signal) => {
      signals.push(signal);
      return never();
    };
    const { guard } = await reporting({ send });
    guard.record("a");
    await pass(30_999);
    expect(signals.map(({ aborted }) => aborted)).toEqual([false]);
    await pass(1);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });

  test("is aborted as the page hides, and its batch is sent with the others", async () => {
    const server = serve(never);
    const { guard, errors } = await reporting();
    guard.record("under way");
    await pass(5000);
    guard.record("since");
    server.answer = () => ({ status: 204 });
    dispatch("pagehide");
    await pass(0);
    expect(server.requests).toEqual([["under way"], ["under way", "since"]]);
    expect(server.inits.map(({ signal }) => signal?.aborted)).toEqual([true, false]);
    expect(errors).toEqual([]);
    await pass(MINUTE_MS);
    expect(server.requests).toHaveLength(2);
  });
});

describe("a response", () => {
  const receipts: readonly [string, unknown][] = [
    ["without a status", undefined],
    ["that is null", null],
    ["with a status that is a string", { status: "500" }],
    ["with the status 200", { status: 200, data: {} }],
    ["with the status 299", { status: 299 }],
  ];
  const failures: readonly [string, unknown][] = [
    ["with the status 500", { status: 500 }],
    ["with the status 302", { status: 302 }],
    ["with the status 0", { status: 0 }],
  ];
  test.each(receipts)("of `send` %s is an acknowledgement", async (_, answer) => {
    const { guard, errors } = await reporting({ send: () => Promise.resolve(answer) });
    guard.record("a");
    await pass(5000);
    expect(guard.stats().undelivered).toBe(0);
    expect(errors).toEqual([]);
  });
  test.each(failures)("of `send` %s is not an acknowledgement", async (_, answer) => {
    const { guard, codes } = await reporting({ send: () => Promise.resolve(answer) });
    guard.record("a");
    await pass(5000);
    expect(guard.stats().undelivered).toBe(1);
    expect(codes()).toEqual(["delivery"]);
  });

  test.each([
    ["of the page of a sign-in, to which a bridge was redirected", { redirected: true }],
    ["of a redirect that was not followed", { status: 0, type: "opaqueredirect" as const }],
  ])("%s is not a receipt", async (_, answer) => {
    const server = serve(() => ({ status: 200, ...answer }));
    const { guard, codes } = await reporting();
    guard.record("a");
    await pass(5000);
    expect(server.inits[0]?.redirect).toBe("manual");
    expect(guard.stats().undelivered).toBe(1);
    expect(codes()).toEqual(["delivery"]);
  });

  test("its body is cancelled, since nobody reads it", async () => {
    const cancel = vi.fn(() => Promise.reject(new Error("of the body")));
    serve(() => ({ status: 200, body: { cancel } as never }));
    const { guard, errors } = await reporting();
    guard.record("a");
    await pass(5000);
    expect(cancel).toHaveBeenCalledOnce();
    expect(guard.stats().undelivered).toBe(0);
    expect(errors).toEqual([]);
  });

  const moved = "https://feed.test/base/impressions";
  test.each([{}, { url: "" }, { url }, { url: moved }])("of %o is one", async (answer) => {
    serve(() => ({ status: 200, ...answer }));
    const { guard, errors } = await reporting();
    guard.record("a");
    await pass(5000);
    expect(guard.stats().undelivered).toBe(0);
    expect(errors).toEqual([]);
  });

  test("with Retry-After is respected, regardless of the form of its headers", async () => {
    const times: number[] = [];
    const send = () => {
      times.push(Date.now());
      return Promise.resolve({ status: 503, headers: { "Retry-After": "600" } });
    };
    const { guard } = await reporting({ send });
    guard.record("a");
    await pass(1000 + 10 * MINUTE_MS - 1);
    expect(times).toHaveLength(1);
    await pass(2.5 * MINUTE_MS);
    expect(times).toHaveLength(2);
  });
});

describe("one impression that is refused", () => {
  test.each([400, 413])(
    "by %d does not delay others, is reported, and is left out until the next visit",
    async (status) => {
      const [storage, namespace] = [new MapStorage(), uniqueNamespace()];
      const server = serve((ids) => ({ status: ids.includes("bad-57") ? status : 204 }));
      const { guard, errors } = await reporting({}, { storage, namespace });
      const ids = idsOf("bad", 100);
      guard.record(ids);
      await pass(100);
      expect(server.accepted.toSorted()).toEqual(ids.filter((id) => id !== "bad-57").toSorted());
      const refused = server.requests.filter((ids) => ids.includes("bad-57")).map(({ length }) => length);
      expect(refused.slice(0, 2)).toEqual([100, 50]);
      expect(refused.at(-1)).toBe(1);
      expect(server.requests.length).toBeLessThan(16);
      expect(messages(errors).filter((message) => message.includes('"bad-57"'))).toHaveLength(1);
      expect(guard.stats().failingSince).toBeUndefined();
      const { length } = server.requests;
      guard.record("later");
      await pass(60 * MINUTE_MS);
      expect(server.requests.slice(length)).toEqual([["later"]]);
      expect(await guard.deliver()).toEqual({ delivered: 0, left: 1 });
      await guard.close();
      const next = await openGuard({ storage, namespace }, newPage({ fetch: server.fetch }));
      next.guard.report({ url });
      // What was found in storage is delivered 5 to 10 seconds after `open`, with the next report.
      await pass(15_000);
      expect(server.requests.at(-1)).toEqual(["bad-57"]);
    },
  );

  test("is not counted as left once the namespace was cleared", async () => {
    const [storage, namespace] = [new MapStorage(), uniqueNamespace()];
    serve((ids) => ({ status: ids.includes("bad") ? 400 : 204 }));
    const { guard } = await reporting({}, { storage, namespace });
    guard.record(["bad", "good"]);
    await pass(1500);
    expect(await guard.deliver()).toMatchObject({ left: 1 });
    await SeenGuard.clear(namespace, storage);
    expect(await guard.deliver()).toMatchObject({ left: 0 });
  });

  test("is counted as left once, also after the engine has trapped", async () => {
    const server = serve(() => ({ status: 400 }));
    const { guard } = await openGuard({ storage: new MapStorage() }, newTrappingPage({ fetch: server.fetch }));
    guard.report({ url });
    guard.record("bad");
    await pass(1500);
    expect(await guard.deliver()).toEqual({ delivered: 0, left: 1 });
    await guard.flush();
    guard.explain("bad");
    await vi.waitFor(() => expect(guard.stats().engine).toBe("wasm"));
    await guard.flush();
    for (const timeoutMs of [0, 1000]) expect(await guard.deliver({ timeoutMs })).toEqual({ delivered: 0, left: 1 });
  });

  test.each([0, 1])("does not delay others though it is the oldest and nothing was accepted yet (%d)", async (more) => {
    const bad = idsOf("bad", 1 + more);
    const server = serve((ids) => ({ status: ids.some((id) => bad.includes(id)) ? 400 : 204 }));
    const { guard, errors } = await reporting();
    guard.record([...bad, "a", "b", "c"]);
    await pass(1500);
    expect(server.accepted).toEqual(["a", "b", "c"]);
    for (const id of bad) expect(messages(errors).filter((message) => message.includes(`"${id}"`))).toHaveLength(1);
  });

  test("is the only one left out, and impressions recorded meanwhile are delivered", async () => {
    const server = serve(async (ids) => {
      await pause(200);
      return { status: ids.includes("bad") ? 400 : 204 };
    });
    const { guard } = await reporting();
    guard.record(["bad", ...idsOf("a", 30)]);
    for (let index = 0; index < 10; index++) {
      await pass(500);
      guard.record(`new-${String(index)}`);
    }
    await pass(10_000);
    expect(server.accepted.toSorted()).toEqual([...idsOf("a", 30), ...idsOf("new", 10)].toSorted());
  });

  test("delays delivery only by its Retry-After, and the halving continues after that", async () => {
    const server = serve((ids) =>
      ids.includes("bad-3") ? { status: 400, headers: new Headers({ "retry-after": "60" }) } : { status: 204 },
    );
    const { guard } = await reporting();
    guard.record(idsOf("bad", 8));
    await pass(1000 + MINUTE_MS - 1);
    expect(server.requests.map(({ length }) => length)).toEqual([8]);
    await pass(10 * MINUTE_MS);
    expect(server.requests.map(({ length }) => length).slice(0, 3)).toEqual([8, 4, 2]);
    expect(server.accepted).toHaveLength(7);
  });
});

describe("an endpoint that refuses everything", () => {
  test("gets few requests, is reported as a failure, and gets each impression once it works", async () => {
    const server = serve(() => ({ status: 400 }));
    const { guard, errors } = await reporting();
    guard.record(idsOf("a", 100));
    await pass(100);
    const lengths = server.requests.map(({ length }) => length);
    expect(lengths.filter((length) => length === 1)).toHaveLength(8);
    expect(lengths.length).toBeLessThan(16);
    expect(guard.stats()).toMatchObject({ undelivered: 100, failingSince: expect.any(Number) as number });
    expect(messages(errors).at(-1)).toContain("are tried again");
    await pass(MINUTE_MS);
    // The wait doubles: about six tries, of eight impressions.
    expect(server.requests.length).toBeLessThan(16 + 8 * 8);
    server.answer = () => ({ status: 204 });
    await pass(5 * MINUTE_MS);
    expect(server.accepted.toSorted()).toEqual(idsOf("a", 100).toSorted());
    expect(guard.stats().failingSince).toBeUndefined();
  });

  test("leaves out the refused entries, eight at a time, if it has accepted one before", async () => {
    const server = serve();
    const { guard } = await reporting();
    guard.record("accepted");
    await pass(1000);
    server.answer = () => ({ status: 400 });
    guard.record(idsOf("a", 100));
    await pass(400);
    expect(server.requests.length).toBeLessThan(1 + 16);
    server.answer = () => ({ status: 204 });
    await pass(5 * MINUTE_MS);
    expect(server.accepted).toHaveLength(1 + 92);
  });
});

test("a server that accepts 30 impressions at most gets no larger batch after a 413", async () => {
  const server = serve((ids) => ({ status: ids.length > 30 ? 413 : 204 }));
  const { guard, errors } = await reporting();
  guard.record(idsOf("a", 100));
  await pass(100);
  expect(server.requests.map(({ length }) => length)).toEqual([100, 50, 25, 25, 25, 25]);
  guard.record(idsOf("b", 100));
  await pass(100);
  expect(server.requests.slice(6).map(({ length }) => length)).toEqual([25, 25, 25, 25]);
  expect(errors).toEqual([]);
});

describe("after a failure", () => {
  test("`failingSince` is the first failure in the row, until delivery works", async () => {
    const server = serve(() => ({ status: 503 }));
    const { guard, stop } = await reporting();
    expect(guard.stats().failingSince).toBeUndefined();
    guard.record("a");
    const since = Date.now() + 1000;
    await pass(10 * MINUTE_MS);
    expect(guard.stats().failingSince).toBe(since);
    server.answer = () => ({ status: 204 });
    await pass(6 * MINUTE_MS);
    expect(guard.stats().failingSince).toBeUndefined();
    server.answer = () => ({ status: 503 });
    guard.record("b");
    await pass(5000);
    expect(guard.stats().failingSince).toBeGreaterThan(since);
    stop();
    expect(guard.stats().failingSince).toBeUndefined();
  });

  test.each(["pagehide", "online", "visibilitychange", "deliver"])(
    "it is tried again at `%s`, but not before Retry-After",
    async (what) => {
      const headers = new Headers();
      const server = serve(() => ({ status: 503, headers }));
      const { guard } = await reporting();
      const comes = () => (what === "deliver" ? guard.deliver() : dispatch(what));
      guard.record("a");
      await pass(10 * MINUTE_MS);
      const tries = server.requests.length;
      headers.set("retry-after", "900");
      void comes();
      await pass(10);
      expect(server.requests).toHaveLength(tries + 1);
      void comes();
      await pass(15 * MINUTE_MS - 100);
      expect(server.requests).toHaveLength(tries + 1);
      headers.delete("retry-after");
      await pass(5 * MINUTE_MS);
      expect(server.requests.length).toBeGreaterThan(tries + 1);
    },
  );

  test("`close` tries once regardless of the backoff, but not before Retry-After", async () => {
    for (const [header, tries] of [
      ["0", 1],
      ["600", 0],
    ] as const) {
      const server = serve(() => ({ status: 503, headers: new Headers({ "retry-after": header }) }));
      const { guard } = await reporting();
      guard.record("a");
      await pass(5000);
      server.requests.length = 0;
      await guard.close();
      expect(server.requests).toHaveLength(tries);
    }
  });
});

describe("as the page hides", () => {
  test("only the last request outlives it, without impressions read from storage", async () => {
    const [storage, namespace] = [new MapStorage(), uniqueNamespace()];
    const server = serve(() => ({ status: 503 }));
    const former = await reporting({}, { storage, namespace });
    former.guard.record("of a former visit");
    await former.guard.close();
    server.requests.length = 0;
    server.answer = () => ({ status: 204 });
    const { guard } = await reporting({}, { storage, namespace });
    guard.record("here");
    dispatch("pagehide");
    await pass(0);
    expect(server.requests).toEqual([["here"]]);
    expect(server.inits.at(-1)?.keepalive).toBe(true);
    dispatch("pageshow");
    await pass(15_000);
    expect(server.requests).toEqual([["here"], ["of a former visit"]]);
    expect(server.inits.at(-1)?.keepalive).toBe(false);
  });

  test("one request goes out, with the newest 100 impressions, those of the request in progress included", async () => {
    const server = serve(never);
    const { guard } = await reporting();
    guard.record(idsOf("a", 60));
    await pass(0);
    guard.record(idsOf("b", 90));
    dispatch("visibilitychange");
    dispatch("pagehide");
    await pass(0);
    expect(server.requests.slice(1)).toEqual([[...idsOf("a", 10, 50), ...idsOf("b", 90)]]);
    expect(server.inits[0]?.signal?.aborted).toBe(true);
  });

  test("one request goes out for both of its events, and another one only after it was shown", async () => {
    const document = { visibilityState: "visible" };
    vi.stubGlobal("document", document);
    const server = serve(never);
    const { guard } = await reporting();
    const hide = () => {
      document.visibilityState = "hidden";
      dispatch("visibilitychange");
      dispatch("pagehide");
    };
    guard.record(idsOf("a", 150));
    hide();
    await pass(0);
    expect(server.requests.map(({ length }) => length)).toEqual([100]);
    document.visibilityState = "visible";
    dispatch("visibilitychange");
    hide();
    await pass(0);
    expect(server.requests.map(({ length }) => length)).toEqual([100, 50]);
  });

  test("impressions recorded after an event with nothing to send are sent at the next event", async () => {
    vi.stubGlobal("document", { visibilityState: "hidden" });
    const server = serve(never);
    const { guard } = await reporting();
    dispatch("visibilitychange");
    guard.record("a");
    dispatch("pagehide");
    await pass(0);
    expect(server.requests).toEqual([["a"]]);
  });

  test("all guards together send 60,000 bytes at most, in one request each", async () => {
    const server = serve(never);
    const bytes = () =>
      server.inits.reduce((sum, { body }) => sum + new TextEncoder().encode(body as string).length, 0);
    const guards = await Promise.all(Array.from({ length: 6 }, () => reporting()));
    for (const [index, { guard }] of guards.entries()) {
      guard.record(idsOf(`${"x".repeat(80)}-${String(index)}`, 240));
      // Six bytes a character in JSON, which the engine counts as one.
      guard.record([`${"\u0001".repeat(1_000)}${String(index)}`]);
    }
    dispatch("pagehide");
    expect(bytes()).toBeGreaterThan(40_000);
    expect(bytes()).toBeLessThanOrEqual(60_000);
    expect(server.requests.length).toBeLessThanOrEqual(6);
    expect(server.requests.every(({ length }) => length <= 100)).toBe(true);
    const ids = server.requests.flat();
    expect(new Set(ids).size).toBe(ids.length);
    await pass(31_000);
    server.answer = () => ({ status: 204 });
    await pass(10 * MINUTE_MS);
    expect(new Set(server.accepted).size).toBe(6 * 241);
  });

  test("a refused impression causes no other request that outlives the page", async () => {
    const server = serve((ids) => ({ status: ids.includes("bad-57") ? 400 : 204 }));
    const { guard } = await reporting();
    guard.record(idsOf("bad", 100));
    dispatch("pagehide");
    await pass(100);
    expect(server.inits.filter(({ keepalive }) => keepalive)).toHaveLength(1);
    expect(server.accepted).toHaveLength(99);
  });

  test("a TypeError, which may mean that there is no room, is not a failure", async () => {
    const server = serve(() => Promise.reject(new TypeError("keepalive request exceeded the quota")));
    const { guard, errors } = await reporting();
    guard.record("a");
    dispatch("pagehide");
    await pass(0);
    expect(server.requests).toHaveLength(1);
    expect(errors).toEqual([]);
    expect(guard.stats()).toMatchObject({ failingSince: undefined, undelivered: 1 });
  });
});

describe("a namespace has one reporter", () => {
  test("with the latest options, until the last one stops", async () => {
    const [first, second] = [serve(), serve()];
    const namespace = uniqueNamespace();
    const { guard, stop } = await reporting({ fetch: first.fetch }, { namespace });
    const { guard: other } = await openGuard({ namespace });
    const stopOther = other.report({ url, fetch: second.fetch, intervalMs: MINUTE_MS });
    guard.record("a");
    await pass(12_000);
    expect([first.requests, second.requests]).toEqual([[], [["a"]]]);
    const again = guard.report({ url, fetch: first.fetch });
    guard.record("b");
    await pass(MINUTE_MS);
    expect([first.requests, second.requests]).toEqual([[["b"]], [["a"]]]);
    again();
    stop();
    stop();
    guard.record("c");
    await pass(MINUTE_MS);
    expect(second.requests).toEqual([["a"], ["c"]]);
    stopOther();
    guard.record("d");
    await pass(10 * MINUTE_MS);
    expect([first.requests.length, second.requests.length]).toEqual([1, 2]);
  });

  test("refuses another address while it runs", async () => {
    const { guard, stop } = await reporting();
    const refused = { code: "bad-option", message: expect.stringContaining(url) as string };
    expect(() => guard.report({ url: "/elsewhere" })).toThrow(expect.objectContaining(refused));
    expect(() => guard.report({ send: () => Promise.resolve() })).toThrow(expect.objectContaining(refused));
    stop();
    guard.report({ url: "/elsewhere", send: () => Promise.resolve() });
    guard.report({ send: () => Promise.resolve() });
    expect(() => guard.report({ url })).toThrow(/`send`/);
  });
});

describe("after any failure", () => {
  test("delivery continues with the next attempt", async () => {
    const server = serve();
    const { guard, codes } = await reporting({
      headers: () => {
        throw new Error("no token");
      },
    });
    guard.record("a");
    await pass(1000);
    const stop = guard.report({ url, headers: {} });
    const stringify = vi.spyOn(JSON, "stringify").mockImplementation(() => {
      throw new Error("not to be serialised");
    });
    await pass(1000);
    stringify.mockRestore();
    await pass(5000);
    expect(server.accepted).toEqual(["a"]);
    expect(codes()).toEqual(["delivery"]);
    stop();
  });

  test("as the page hides, too", async () => {
    const server = serve();
    const { guard } = await reporting();
    guard.record("a");
    const stringify = vi.spyOn(JSON, "stringify").mockImplementation(() => {
      throw new Error("not to be serialised");
    });
    dispatch("pagehide");
    stringify.mockRestore();
    guard.record("b");
    await pass(5000);
    expect(server.accepted).toEqual(["a", "b"]);
  });
});
