/** Delivery that knows whose session it goes out in: headers by request, refusals, what waits before signing out. */
import type { GuardOptions, Report, ReportOptions } from "seenguard";
import { describe, expect, test, vi } from "vitest";
import { idsOf, MapStorage, openGuard, openPage, uniqueNamespace } from "../node/support.js";
import { pass, useFakeTimers } from "./fake-timers.js";

const MINUTE_MS = 60_000;

useFakeTimers();

interface Request {
  readonly headers: Record<string, string>;
  readonly ids: string[];
}

/** A server that answers with its `status`. */
class Server {
  status = 204;
  readonly requests: Request[] = [];

  readonly fetch = (_: string, { body, headers }: { body: string; headers: Record<string, string> }) => {
    const { impressions } = JSON.parse(body) as Report;
    this.requests.push({ headers, ids: impressions.map(({ id }) => id) });
    return Promise.resolve(new Response(null, { status: this.status }));
  };

  get ids(): string[] {
    return this.requests.flatMap(({ ids }) => ids);
  }
}

/** A server that this document's requests go to. */
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
    ["answers at once", (token: string) => ({ authorization: token })],
    ["answers later", (token: string) => Promise.resolve({ authorization: token })],
  ])("which %s are asked for each request", async (_, headersOf) => {
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
  ])("which %s are a failure that is told once and tried again", async (_, fail) => {
    let asked = 0;
    const headers = () => (++asked < 4 ? fail() : { authorization: "token" });
    const { guard, server, errors } = await reporting({ headers });
    guard.record("a");
    await pass(MINUTE_MS);
    expect(server.ids).toEqual(["a"]);
    expect(asked).toBe(4);
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

  test("or an object of texts are all there is: anything else is refused", async () => {
    const { guard } = await openGuard();
    for (const headers of ["text", [], { a: 1 }])
      expect(() => guard.report({ url: "/", headers: headers as never })).toThrow(/headers must be .* function/);
  });
});

describe.each([403, 409])("an answer of %d", (status) => {
  test("is told once, and nothing more of the namespace is sent by this document", async () => {
    const namespace = uniqueNamespace();
    const { guard, server, errors } = await reporting({}, { namespace });
    guard.report({ url: "/elsewhere" });
    server.status = status;
    guard.record("a");
    await pass(5000);
    expect(server.requests).toHaveLength(1);
    expect(errors).toMatchObject([{ code: "delivery", message: expect.stringContaining(String(status)) as string }]);
    expect(errors[0]?.message).toContain(namespace);

    server.status = 204;
    guard.record(idsOf("more", 60));
    await pass(60 * MINUTE_MS);
    expect(await guard.deliver()).toEqual({ delivered: 0, left: 61 });
    await guard.close();
    const { guard: later } = await openGuard({ namespace });
    later.report({ url: "/impressions" });
    later.record("b");
    await pass(60 * MINUTE_MS);
    expect(server.requests).toHaveLength(1);
    expect(errors).toHaveLength(1);
  });

  test("holds back no other namespace", async () => {
    const { guard, server } = await reporting();
    server.status = status;
    guard.record("a");
    await pass(5000);
    server.status = 204;
    const { guard: other } = await openGuard();
    other.report({ url: "/impressions" });
    other.record("b");
    await pass(5000);
    expect(server.ids).toEqual(["a", "b"]);
  });

  test("leaves the impressions to the next document", async () => {
    const [namespace, storage, server] = [uniqueNamespace(), new MapStorage(), new Server()];
    server.status = status;
    const first = await openGuard({ namespace, storage }, pageOver(server));
    first.guard.report({ url: "/impressions" });
    first.guard.record(["a", "b"]);
    await pass(5000);
    await first.guard.flush();
    server.status = 204;
    await pass(MINUTE_MS);
    expect(server.requests).toHaveLength(1);
    const next = await openGuard({ namespace, storage }, pageOver(server));
    next.guard.report({ url: "/impressions" });
    await pass(5000);
    expect(server.ids).toEqual(["a", "b", "a", "b"]);
  });
});

/** Another document, whose requests go to this server. */
function pageOver(server: Server) {
  const { seenguard, run } = openPage();
  Object.assign(run("globalThis") as object, { fetch: server.fetch });
  return seenguard;
}

describe("deliver", () => {
  test("delivers at once what waits, in all its batches, and says how many", async () => {
    const { guard, server } = await reporting({ intervalMs: 60 * MINUTE_MS });
    guard.record(idsOf("a", 30));
    guard.unsee("taken back");
    const delivering = guard.deliver();
    await pass(0);
    expect(await delivering).toEqual({ delivered: 31, left: 0 });
    expect(server.ids).toEqual(idsOf("a", 30));

    guard.record(idsOf("b", 600));
    const all = guard.deliver();
    await pass(100);
    expect(await all).toEqual({ delivered: 600, left: 0 });
    expect(server.ids).toHaveLength(630);
    expect(await guard.deliver()).toEqual({ delivered: 0, left: 0 });
  });

  test("waits for no backoff, and tells what is left when the server still fails", async () => {
    const { guard, server } = await reporting();
    server.status = 503;
    guard.record("a");
    await pass(10 * MINUTE_MS);
    const tried = server.requests.length;
    expect(await guard.deliver()).toEqual({ delivered: 0, left: 1 });
    expect(server.requests).toHaveLength(tried + 1);
    server.status = 204;
    const delivering = guard.deliver();
    await pass(0);
    expect(await delivering).toEqual({ delivered: 1, left: 0 });
    // The wait is over for what comes, too.
    guard.record("b");
    await pass(5000);
    expect(server.ids.at(-1)).toBe("b");
  });

  test("takes in what is under way, and resolves when the time is over", async () => {
    let arrive = () => {};
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
    arrive();
    await pass(1);
    arrive();
    await pass(1);
    expect(await inTime).toEqual({ delivered: 2, left: 0 });
    expect(sent).toEqual([["a"], ["b"]]);

    guard.record("c");
    const tooLate = guard.deliver(300);
    await pass(300);
    expect(await tooLate).toEqual({ delivered: 0, left: 1 });
    const byDefault = guard.deliver();
    await pass(5000);
    expect(await byDefault).toEqual({ delivered: 0, left: 1 });
  });

  test("goes over all reports of the namespace, whoever started them", async () => {
    const namespace = uniqueNamespace();
    const failing = vi.fn(() => Promise.reject(new Error("down")));
    const { guard, server } = await reporting({ intervalMs: 60 * MINUTE_MS }, { namespace });
    const { guard: other } = await openGuard({ namespace });
    other.report({ url: "/", send: failing, intervalMs: 60 * MINUTE_MS });
    guard.record(idsOf("a", 300));
    const delivering = other.deliver();
    await pass(100);
    expect(await delivering).toEqual({ delivered: 300, left: 0 });
    expect(failing).toHaveBeenCalledTimes(1);
    expect(server.ids).toHaveLength(300);
  });

  test("delivers nothing without a report, offline, or once closed", async () => {
    const { guard } = await openGuard();
    guard.record("a");
    expect(await guard.deliver()).toEqual({ delivered: 0, left: 1 });
    const { guard: offline, server } = await reporting();
    offline.record("b");
    vi.stubGlobal("navigator", { onLine: false });
    expect(await offline.deliver()).toEqual({ delivered: 0, left: 1 });
    await offline.close();
    expect(await offline.deliver()).toEqual({ delivered: 0, left: 0 });
    expect(server.requests).toEqual([]);
  });

  test("refuses a time that is none", async () => {
    const { guard } = await openGuard();
    for (const timeoutMs of [-1, NaN, Infinity, "5"])
      await expect(guard.deliver(timeoutMs as number)).rejects.toMatchObject({ code: "bad-option" });
  });
});
