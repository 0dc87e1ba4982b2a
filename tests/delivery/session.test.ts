/** Delivery under a session: headers, credentials, refusals, and delivery before signing out. */
import type { GuardOptions, Report, ReportOptions, SeenGuard } from "seenguard";
import { describe, expect, test, vi } from "vitest";
import { idsOf, MapStorage, openGuard, openPage, uniqueNamespace } from "../support/node.js";
import { pass, useFakeTimers } from "../support/clocks.js";

const MINUTE_MS = 60_000;

useFakeTimers();

interface Request {
  readonly headers: Record<string, string>;
  readonly ids: string[];
}

/** A server that responds with its `status`. */
class Server {
  status = 204;
  readonly requests: Request[] = [];

  readonly fetch = (_: string, { body, headers }: { body: string; headers: Headers }) => {
    const { impressions } = JSON.parse(body) as Report;
    this.requests.push({ headers: Object.fromEntries(headers), ids: impressions.map(({ id }) => id) });
    return Promise.resolve(new Response(null, { status: this.status }));
  };

  get ids(): string[] {
    return this.requests.flatMap(({ ids }) => ids);
  }
}

/** A server that gets this document's requests. */
function serve(): Server {
  const server = new Server();
  vi.stubGlobal("fetch", server.fetch);
  return server;
}

async function reporting(options: Partial<ReportOptions> = {}, guardOptions: Partial<GuardOptions> = {}) {
  const server = serve();
  const opened = await openGuard(guardOptions);
  const stop = opened.guard.report({ url: "/impressions", ...options });
  return { server, stop, ...opened };
}

describe("headers that are a function", () => {
  test.each([
    ["returns them", (token: string) => ({ authorization: token })],
    ["resolves to them", (token: string) => Promise.resolve({ authorization: token })],
  ])("which %s are called for each request", async (_, headersOf) => {
    let token = 0;
    const { guard, server } = await reporting({ headers: () => headersOf(`token ${String(++token)}`) });
    for (const id of ["a", "b"]) {
      guard.record(id);
      await pass(5000);
    }
    expect(server.requests).toEqual([
      { headers: { "content-type": "application/json", authorization: "token 1" }, ids: ["a"] },
      { headers: { "content-type": "application/json", authorization: "token 2" }, ids: ["b"] },
    ]);
  });

  test.each([
    [
      "throws",
      () => {
        throw new Error("no token");
      },
    ],
    ["rejects", () => Promise.reject(new Error("no token"))],
  ])("which %s are a failure that is reported once and retried", async (_, fail) => {
    let calls = 0;
    const headers = () => (++calls < 4 ? fail() : { authorization: "token" });
    const { guard, server, errors } = await reporting({ headers });
    guard.record("a");
    await pass(MINUTE_MS);
    expect(server.ids).toEqual(["a"]);
    expect(calls).toBe(4);
    expect(errors).toMatchObject([{ code: "delivery", message: expect.stringContaining("no token") as string }]);
  });

  test("are waited for, and nothing is sent when the report is stopped meanwhile", async () => {
    let answer: (headers: Record<string, string>) => void = () => {};
    const headers = () => new Promise<Record<string, string>>((resolve) => (answer = resolve));
    const { guard, server, stop } = await reporting({ headers });
    guard.record("a");
    await pass(6000);
    stop();
    answer({ authorization: "of the next person" });
    await pass(MINUTE_MS);
    expect(server.requests).toEqual([]);
    expect(guard.pending()).toEqual(["a"]);
  });

  test("or an object of strings are the only forms: others are refused", async () => {
    const { guard } = await openGuard();
    for (const headers of ["text", [], { a: 1 }])
      expect(() => guard.report({ url: "/", headers: headers as never })).toThrow(/headers must be .* function/);
  });

  test("and those of the app win, in any letter case", async () => {
    const headers = { "Content-Type": "application/vnd.feed+json", Authorization: "token" };
    const { guard, server } = await reporting({ headers });
    guard.record("a");
    await pass(5000);
    expect(server.requests).toMatchObject([
      { headers: { "content-type": "application/vnd.feed+json", authorization: "token" } },
    ]);
  });
});

describe("a response 409", () => {
  test("is reported with its own message, and retried after 15 minutes", async () => {
    const namespace = uniqueNamespace();
    const { guard, server, errors } = await reporting({}, { namespace });
    server.status = 503;
    guard.record("a");
    await pass(1000);
    server.status = 409;
    await pass(1000);
    expect(server.requests).toHaveLength(2);
    expect(errors).toMatchObject([{ code: "delivery" }, { code: "delivery" }]);
    expect(errors[1]?.message).toContain(`the session is not that of the namespace "${namespace}"`);
    guard.record(idsOf("more", 60));
    await pass(15 * MINUTE_MS - 1000);
    expect(server.requests).toHaveLength(2);
    await pass(1000);
    expect(server.requests).toHaveLength(3);
    expect(errors).toHaveLength(2);
    server.status = 204;
    await pass(15 * MINUTE_MS);
    expect(server.ids.slice(-61)).toEqual(["a", ...idsOf("more", 60)]);
  });

  const events = new EventTarget();
  test.each([
    ["the namespace is opened again", true, (options: object) => openGuard(options)],
    ["`deliver` is called", true, (_: object, guard: SeenGuard) => void guard.deliver()],
    ["the page is visible again", true, () => events.dispatchEvent(new Event("visibilitychange"))],
    ["the network is back", false, () => events.dispatchEvent(new Event("online"))],
  ])("ends its backoff when %s: %s", async (_, ends, happens) => {
    for (const name of ["addEventListener", "removeEventListener"] as const)
      Object.assign(globalThis, { [name]: events[name].bind(events) });
    const options = { namespace: uniqueNamespace() };
    const { guard, server } = await reporting({}, options);
    server.status = 409;
    guard.record("a");
    await pass(5000);
    server.status = 204;
    await happens(options, guard);
    await pass(1000);
    expect(server.requests).toHaveLength(ends ? 2 : 1);
  });

  test("is retried after 15 minutes, however often the network comes back", async () => {
    for (const name of ["addEventListener", "removeEventListener"] as const)
      Object.assign(globalThis, { [name]: events[name].bind(events) });
    const { guard, server } = await reporting({}, { namespace: uniqueNamespace() });
    server.status = 409;
    guard.record("a");
    await pass(5000);
    for (let minute = 0; minute < 15; minute++) {
      expect(server.requests).toHaveLength(1);
      await pass(MINUTE_MS);
      events.dispatchEvent(new Event("online"));
    }
    expect(server.requests).toHaveLength(2);
  });

  test("delays no other namespace, and the next document delivers the impressions", async () => {
    const [namespace, storage, server] = [uniqueNamespace(), new MapStorage(), new Server()];
    server.status = 409;
    const first = await openGuard({ namespace, storage }, pageOver(server));
    first.guard.report({ url: "/impressions" });
    first.guard.record(["a", "b"]);
    await pass(5000);
    await first.guard.flush();
    server.status = 204;
    const { guard: other } = await openGuard({}, pageOver(server));
    other.report({ url: "/impressions" });
    other.record("c");
    await pass(5000);
    const next = await openGuard({ namespace, storage }, pageOver(server));
    next.guard.report({ url: "/impressions" });
    await pass(15_000);
    expect(server.requests.map(({ ids }) => ids)).toEqual([["a", "b"], ["c"], ["a", "b"]]);
  });
});

test("credentials are those of the option, or of the same origin", async () => {
  const all: unknown[] = [];
  for (const options of [{}, { credentials: "include" as const }]) {
    const { guard } = await reporting(options);
    vi.stubGlobal("fetch", (_: string, { credentials }: RequestInit) => {
      all.push(credentials);
      return Promise.resolve(new Response());
    });
    guard.record("a");
    await pass(5000);
  }
  expect(all).toEqual(["same-origin", "include"]);
  const { guard } = await openGuard();
  expect(() => guard.report({ url: "/", credentials: "all" as never })).toThrow(/credentials must be/);
});

/** Another document, whose requests go to this server. */
function pageOver(server: Server) {
  const { seenguard, run } = openPage();
  Object.assign(run("globalThis") as object, { fetch: server.fetch });
  return seenguard;
}

describe("deliver", () => {
  test("delivers all batches at once, and returns the number of entries", async () => {
    const { guard, server } = await reporting({ intervalMs: 60 * MINUTE_MS });
    guard.record(idsOf("a", 30));
    guard.unsee("unseen");
    expect(await guard.deliver()).toEqual({ delivered: 31, left: 0 });
    expect(server.ids).toEqual(idsOf("a", 30));

    guard.record(idsOf("b", 600));
    const all = guard.deliver();
    await pass(100);
    expect(await all).toEqual({ delivered: 600, left: 0 });
    expect(server.ids).toHaveLength(630);
    expect(await guard.deliver()).toEqual({ delivered: 0, left: 0 });
  });

  test("ignores the backoff, and returns the number left if the server still fails", async () => {
    const { guard, server } = await reporting();
    server.status = 503;
    guard.record("a");
    await pass(10 * MINUTE_MS);
    const tried = server.requests.length;
    expect(await guard.deliver()).toEqual({ delivered: 0, left: 1 });
    expect(server.requests).toHaveLength(tried + 1);
    server.status = 204;
    expect(await guard.deliver()).toEqual({ delivered: 1, left: 0 });
    // The backoff has ended for later impressions, too.
    guard.record("b");
    await pass(1000);
    expect(server.ids.at(-1)).toBe("b");
  });

  test("includes the batch in progress, and resolves after its timeout", async () => {
    let arrive = (_answer: unknown) => {};
    const sent: string[][] = [];
    const send: NonNullable<ReportOptions["send"]> = ({ impressions }) => {
      sent.push(impressions.map(({ id }) => id));
      return new Promise((resolve) => (arrive = resolve));
    };
    const { guard } = await openGuard();
    guard.report({ url: "/", send });
    guard.record("a");
    await pass(5000);
    guard.record("b");
    const inTime = guard.deliver();
    arrive(undefined);
    await pass(1);
    arrive(undefined);
    await pass(1);
    expect(await inTime).toEqual({ delivered: 2, left: 0 });
    expect(sent).toEqual([["a"], ["b"]]);

    guard.record("c");
    const tooLate = guard.deliver({ timeoutMs: 300 });
    await pass(300);
    expect(await tooLate).toEqual({ delivered: 0, left: 1 });
    const byDefault = guard.deliver();
    await pass(5000);
    expect(await byDefault).toEqual({ delivered: 0, left: 1 });
  });

  test("sends no request that it began after it has resolved, and the report continues", async () => {
    let answer = (_headers: Record<string, string>) => {};
    const headers = () => new Promise<Record<string, string>>((resolve) => (answer = resolve));
    const { guard, server } = await reporting({ headers });
    guard.record("a");
    const delivering = guard.deliver({ timeoutMs: 300 });
    await pass(300);
    expect(await delivering).toEqual({ delivered: 0, left: 1 });
    expect(guard.stats().undelivered).toBe(1);
    answer({});
    await pass(500);
    expect(server.requests).toEqual([]);
    await pass(5000);
    answer({});
    await pass(0);
    expect(server.ids).toEqual(["a"]);
  });

  test("called twice sends each impression once, within the longer of both timeouts", async () => {
    let answer = (_headers: Record<string, string>) => {};
    const headers = () => new Promise<Record<string, string>>((resolve) => (answer = resolve));
    const { guard, server } = await reporting({ headers });
    guard.record("a");
    const [short, long] = [guard.deliver({ timeoutMs: 100 }), guard.deliver({ timeoutMs: 1000 })];
    await pass(500);
    expect(await short).toEqual({ delivered: 0, left: 1 });
    answer({});
    await pass(0);
    expect(await long).toEqual({ delivered: 1, left: 0 });
    expect(server.ids).toEqual(["a"]);
  });

  test("delivers nothing without a report, for no time, or once closed", async () => {
    const { guard } = await openGuard();
    guard.record("a");
    expect(await guard.deliver()).toEqual({ delivered: 0, left: 1 });
    const { guard: other, server } = await reporting();
    other.record("b");
    expect(await other.deliver({ timeoutMs: 0 })).toEqual({ delivered: 0, left: 1 });
    await pass(500);
    expect(server.requests).toEqual([]);
    await other.close();
    expect(server.ids).toEqual(["b"]);
    expect(await other.deliver()).toEqual({ delivered: 0, left: 0 });
  });

  test("refuses an invalid timeout", async () => {
    const { guard } = await openGuard();
    for (const timeoutMs of [-1, NaN, Infinity, "5"])
      await expect(guard.deliver({ timeoutMs: timeoutMs as number })).rejects.toMatchObject({ code: "bad-option" });
  });
});

test("`flush` stores impressions, and delivers nothing", async () => {
  const options = { namespace: uniqueNamespace(), storage: new MapStorage() };
  const { guard, server } = await reporting({}, options);
  guard.record("a");
  await guard.flush();
  expect(server.requests).toEqual([]);
  const { guard: next } = await openGuard(options, openPage().seenguard);
  expect(next.filter(["a", "b"])).toEqual(["b"]);
});
