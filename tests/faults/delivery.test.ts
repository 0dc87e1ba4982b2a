/**
 * Delivery by the clock: batches, failures and their waits, what is delivered again, and what the next visit takes
 * over.
 */
import type { Impression, Report, ReportOptions } from "seenguard";
import { describe, expect, test, vi } from "vitest";
import { idsOf, MapStorage, newPage, openGuard, settled, shippedSnapshot, uniqueNamespace } from "../node/support.js";
import { pass, useFakeTimers } from "./fake-timers.js";

const MINUTE_MS = 60_000;

useFakeTimers();

/** A server that takes impressions, or does not. */
function collector() {
  const requests: { at: number; ids: string[]; impressions: readonly Impression[] }[] = [];
  const state = { isDown: false };
  const send: NonNullable<ReportOptions["send"]> = ({ impressions }) => {
    requests.push({ at: performance.now(), ids: impressions.map(({ id }) => id), impressions });
    return state.isDown ? Promise.reject(new Error("down")) : Promise.resolve();
  };
  return { requests, state, report: { url: "/impressions", send } };
}

describe("report", () => {
  test("delivers impressions at its interval, oldest first, each with its time", async () => {
    const { guard } = await openGuard();
    const { requests, report } = collector();
    guard.report(report);
    const start = Date.now();
    guard.record("a");
    await pass(1000);
    guard.record(["b", 7]);
    await pass(3999);
    expect(requests).toEqual([]);
    await pass(1);
    expect(requests.map(({ impressions }) => impressions)).toEqual([
      [
        { id: "a", at: start },
        { id: "b", at: start + 1000 },
        { id: "7", at: start + 1000 },
      ],
    ]);
    await pass(10 * MINUTE_MS);
    expect(requests).toHaveLength(1);
    // It is delivered, and pending until a snapshot has it.
    expect(guard.pending()).toEqual(["a", "b", "7"]);
  });

  test("delivers unseen ids, and no impression that became unseen before it was sent", async () => {
    const { guard } = await openGuard();
    const bodies: Report[] = [];
    vi.stubGlobal("fetch", (_: string, { body }: { body: string }) => {
      bodies.push(JSON.parse(body) as Report);
      return Promise.resolve(new Response());
    });
    guard.report({ url: "/impressions" });
    const [namespace, pending] = [expect.any(String) as string, expect.any(String) as string];
    const start = Date.now();
    guard.record(["a", "b"]);
    guard.unsee("a");
    await pass(6000);
    guard.unsee(["b", "of another device"]);
    await pass(10 * MINUTE_MS);
    expect(bodies).toEqual([
      {
        ...{ namespace, pending },
        now: start + 5000,
        impressions: [{ id: "b", at: start }],
        unseen: [{ id: "a", at: start }],
      },
      {
        ...{ namespace, pending },
        now: start + 10_001,
        impressions: [],
        unseen: [
          { id: "b", at: start + 6000 },
          { id: "of another device", at: start + 6000 },
        ],
      },
    ]);
  });

  test("does not wait for the interval when many were taken back", async () => {
    const { guard } = await openGuard();
    const unseenIds: string[] = [];
    const send: NonNullable<ReportOptions["send"]> = ({ unseen = [] }) => {
      unseenIds.push(...unseen.map(({ id }) => id));
      return Promise.resolve();
    };
    guard.report({ url: "/impressions", send, intervalMs: MINUTE_MS });
    guard.unsee(idsOf("a", 50));
    await pass(0);
    expect(unseenIds).toEqual(idsOf("a", 50));
  });

  test("does not wait for the interval when many wait", async () => {
    const { guard } = await openGuard();
    const { requests, report } = collector();
    guard.report({ ...report, intervalMs: MINUTE_MS });
    guard.record(idsOf("a", 49));
    await pass(1000);
    expect(requests).toEqual([]);
    guard.record("one more");
    await pass(0);
    expect(requests.map(({ ids }) => ids.length)).toEqual([50]);
  });

  test("delivers in batches that are bounded in number and in bytes, one after the other, and each id once", async () => {
    const { guard } = await openGuard();
    const bodies: number[] = [];
    const ids: string[] = [];
    let underWay = 0;
    const send: NonNullable<ReportOptions["send"]> = async ({ impressions }) => {
      expect(++underWay).toBe(1);
      bodies.push(new TextEncoder().encode(JSON.stringify({ impressions })).length);
      expect(impressions.length).toBeLessThanOrEqual(100);
      ids.push(...impressions.map(({ id }) => id));
      await Promise.resolve();
      underWay--;
    };
    guard.report({ url: "/", send });
    // Ids whose JSON is six times as long as they are.
    const all = [...idsOf("short", 900), ...idsOf("\u0001".repeat(300), 300), "x".repeat(1_024)];
    guard.record(all);
    await pass(5000);
    expect(ids).toEqual(all);
    expect(bodies.filter((bytes) => bytes > 256 * 1024)).toEqual([]);
    expect(bodies.length).toBeLessThan(40);
  });

  test("delivers impressions from before it began, and nothing once it is stopped", async () => {
    const { guard } = await openGuard();
    const { requests, report } = collector();
    guard.record("before");
    const stop = guard.report(report);
    await pass(5000);
    expect(requests.map(({ ids }) => ids)).toEqual([["before"]]);
    guard.record("after");
    stop();
    await guard.close();
    await pass(10 * MINUTE_MS);
    expect(requests).toHaveLength(1);
  });

  test("delivers waiting impressions when the guard closes, and remembers that they have arrived", async () => {
    const [storage, namespace] = [new MapStorage(), uniqueNamespace()];
    const { guard } = await openGuard({ storage, namespace });
    const { requests, report } = collector();
    guard.report(report);
    guard.record(idsOf("a", 300));
    guard.report(report)();
    await guard.close();
    expect(requests.flatMap(({ ids }) => ids)).toEqual(idsOf("a", 300));
    await pass(10 * MINUTE_MS);
    const next = await openGuard({ storage, namespace }, newPage());
    next.guard.report(report);
    await pass(MINUTE_MS);
    expect(requests.flatMap(({ ids }) => ids)).toHaveLength(300);
  });

  test("does not wait for a server that does not answer when the guard closes", async () => {
    const { guard } = await openGuard();
    guard.report({ send: () => new Promise(() => {}) });
    guard.record("a");
    const closed = vi.fn();
    void guard.close().then(closed);
    await pass(1_999);
    expect(closed).not.toHaveBeenCalled();
    await pass(1);
    expect(closed).toHaveBeenCalled();
  });

  test("passes `Seen-Pending` and the reason of sending with each report", async () => {
    const { guard } = await openGuard();
    const reports: [Report, string][] = [];
    const send: NonNullable<ReportOptions["send"]> = (report, reason) =>
      Promise.resolve(void reports.push([report, reason]));
    guard.report({ send });
    guard.record("a");
    const { "Seen-Pending": pending } = guard.headers();
    await pass(5100);
    guard.record("b");
    const delivering = guard.flush();
    await pass(100);
    await delivering;
    guard.record("c");
    await guard.close();
    expect(reports.map(([, reason]) => reason)).toEqual(["interval", "flush", "hide"]);
    expect(reports[0]?.[0].pending).toBe(pending);
  });

  test("delivers an impression that a snapshot covered earlier: it may be a false positive", async () => {
    const { guard } = await openGuard();
    const { requests, state, report } = collector();
    guard.apply(await shippedSnapshot(["covered as it is recorded"]));
    guard.report(report);
    state.isDown = true;
    guard.record(["covered as it is recorded", "covered later"]);
    await pass(5000);
    guard.apply(await shippedSnapshot(["covered as it is recorded", "covered later"]));
    expect(guard.pending()).toEqual([]);
    state.isDown = false;
    requests.length = 0;
    await pass(10 * MINUTE_MS);
    expect(requests.map(({ ids }) => ids)).toEqual([["covered as it is recorded", "covered later"]]);
  });

  test("works where the navigator has no `onLine`", async () => {
    vi.stubGlobal("navigator", { userAgent: "Node.js/22" });
    const { guard } = await openGuard();
    const { requests, report } = collector();
    guard.report(report);
    guard.record("a");
    await pass(5000);
    expect(requests).toHaveLength(1);
  });
});

describe("a request", () => {
  test("is a POST of documented JSON, with the app's headers", async () => {
    const calls: [string, RequestInit][] = [];
    vi.stubGlobal("fetch", (url: string, init: RequestInit) => {
      calls.push([url, init]);
      return Promise.resolve(new Response(null, { status: 204 }));
    });
    const { guard } = await openGuard();
    guard.report({ url: "/impressions", headers: { authorization: "Bearer token" } });
    guard.record("a");
    const at = Date.now();
    await pass(5000);
    expect(calls).toHaveLength(1);
    const [url, { body, headers, signal, ...init }] = calls[0] ?? ["", {}];
    expect(url).toBe("/impressions");
    expect(init).toEqual({ method: "POST", keepalive: false, credentials: "same-origin", redirect: "manual" });
    expect(signal?.aborted).toBe(false);
    expect(Object.fromEntries(headers as Headers)).toEqual({
      "content-type": "application/json",
      authorization: "Bearer token",
    });
    const namespace = expect.any(String) as string;
    // The low 24 bits of XXH64("a").
    const pending = expect.stringMatching(/^[0-9a-z]{0,12}\.[0-9a-z]{8}\.0\.jG5b$/) as string;
    const impressions = [{ id: "a", at }];
    expect(JSON.parse(body as string)).toEqual({ namespace, now: at + 5000, impressions, pending });
  });
});

describe("a server that fails", () => {
  test("is retried with delays that double up to five minutes, with jitter, and reported once", async () => {
    const { guard, codes } = await openGuard();
    const { requests, state, report } = collector();
    guard.report(report);
    state.isDown = true;
    guard.record("a");
    await pass(60 * MINUTE_MS);
    // What is recorded meanwhile does not shorten the wait.
    const waits = requests.slice(1).map(({ at }, index) => at - (requests[index]?.at ?? 0));
    for (const [index, wait] of waits.entries()) {
      const full = Math.min(1000 * 2 ** index, 5 * MINUTE_MS);
      expect(wait).toBeGreaterThanOrEqual(full / 2);
      expect(wait).toBeLessThanOrEqual(full + 1);
    }
    expect(waits.length).toBeGreaterThan(15);
    expect(new Set(waits.slice(9).map(Math.round)).size).toBeGreaterThan(3);
    expect(codes()).toEqual(["delivery"]);
    state.isDown = false;
    await pass(5 * MINUTE_MS);
    const delivered = requests.length;
    guard.record("b");
    await pass(5000);
    expect(requests.slice(delivered).map(({ ids }) => ids)).toEqual([["b"]]);
    state.isDown = true;
    guard.record("c");
    await pass(5000);
    expect(codes()).toEqual(["delivery", "delivery"]);
  });

  test("is not tried more often because more is recorded", async () => {
    const { guard } = await openGuard();
    const { requests, state, report } = collector();
    guard.report(report);
    state.isDown = true;
    for (let second = 0; second < 3600; second++) {
      guard.record(idsOf(`second-${String(second)}`, 1));
      await pass(1000);
    }
    expect(requests.length).toBeLessThan(40);
    state.isDown = false;
    requests.length = 0;
    await pass(5 * MINUTE_MS);
    expect(requests.flatMap(({ ids }) => ids)).toHaveLength(3600);
  });

  /** Ways to deliver, in which something of the app's or the network's waits for `answered`. */
  const transports: Record<string, (answered: () => Promise<void>, arrive: (ids: string[]) => void) => ReportOptions> =
    {
      "a request": (answered, arrive) => {
        vi.stubGlobal("fetch", async (_: string, { body }: { body: string }) => {
          await answered();
          arrive((JSON.parse(body) as Report).impressions.map(({ id }) => id));
          return new Response();
        });
        return { url: "/impressions" };
      },
      send: (answered, arrive) => ({
        url: "/impressions",
        send: async ({ impressions }) => {
          await answered();
          arrive(impressions.map(({ id }) => id));
        },
      }),
      headers: (answered, arrive) => {
        vi.stubGlobal("fetch", (_: string, { body }: { body: string }) => {
          arrive((JSON.parse(body) as Report).impressions.map(({ id }) => id));
          return Promise.resolve(new Response());
        });
        return { url: "/impressions", headers: () => answered().then(() => ({})) };
      },
    };

  for (const [what, limitMs] of [
    ["a request", 30_000],
    ["send", 30_000],
    ["headers", 10_000],
  ] as const) {
    test(`by ${what} that never ends is reported once, and retried until it is delivered`, async () => {
      const { guard, codes } = await openGuard();
      let hangs = true;
      const delivered: string[] = [];
      const answered = () => (hangs ? new Promise<never>(() => {}) : Promise.resolve());
      const options = transports[what]?.(answered, (ids) => delivered.push(...ids));
      guard.report(options ?? { url: "" });
      guard.record("a");
      await pass(5000 + limitMs - 1);
      expect(codes()).toEqual([]);
      await pass(10 * MINUTE_MS);
      expect(codes()).toEqual(["delivery"]);
      hangs = false;
      await pass(6 * MINUTE_MS);
      expect(delivered).toEqual(["a"]);
      expect(codes()).toEqual(["delivery"]);
    });
  }

  test("goes on after a moment without a network, though no browser says that it is back", async () => {
    const { guard } = await openGuard();
    const { requests, state, report } = collector();
    guard.report(report);
    guard.record("a");
    vi.stubGlobal("navigator", { onLine: false });
    state.isDown = true;
    await pass(MINUTE_MS);
    expect(requests).toHaveLength(1);
    vi.stubGlobal("navigator", { onLine: true });
    state.isDown = false;
    await pass(5000);
    expect(requests.map(({ ids }) => ids)).toEqual([["a"], ["a"]]);
  });

  for (const [header, leastMs, mostMs] of [
    ["120", 120_000, 150_000],
    ["Sat, 01 Jan 2000 00:10:00 GMT", 600_000, 750_000],
    ["86400", 3_600_000, 4_500_000],
    ["0", 0, 1000],
    ["soon", 0, 1000],
    ["Sat, 01 Jan 1999 00:00:00 GMT", 0, 1000],
  ] as const) {
    test(`and asks by Retry-After: ${header} is left alone so long, not longer than an hour or so`, async () => {
      vi.setSystemTime(Date.parse("2000-01-01T00:00:00Z") - 5000);
      const times: number[] = [];
      vi.stubGlobal("fetch", () => {
        times.push(performance.now());
        const refuses = times.length === 1;
        return Promise.resolve(new Response(null, refuses ? { status: 503, headers: { "retry-after": header } } : {}));
      });
      const { guard } = await openGuard();
      guard.report({ url: "/impressions" });
      guard.record("a");
      await pass(5000);
      await pass(mostMs);
      const [first = 0, second = 0] = times;
      expect(times).toHaveLength(2);
      expect(second - first).toBeGreaterThanOrEqual(leastMs);
    });
  }
});

describe("what was delivered", () => {
  test("is not delivered again by a stream that covers it within a day", async () => {
    const { guard } = await openGuard();
    const { requests, report } = collector();
    guard.apply(await shippedSnapshot(idsOf("before", 100)));
    guard.report(report);
    const all = idsOf("a", 30);
    for (const id of all) {
      guard.record(id);
      await pass(MINUTE_MS);
      guard.apply(await shippedSnapshot(idsOf("before", 100)));
    }
    await pass(20 * 60 * MINUTE_MS);
    // The stream catches up, a part at a time, in its order.
    for (const known of [10, 20, 30]) {
      guard.apply({ shards: (await shippedSnapshot(all.slice(0, known))).shards });
      await pass(60 * MINUTE_MS);
    }
    await pass(48 * 60 * MINUTE_MS);
    expect(requests.flatMap(({ ids }) => ids)).toEqual(all);
    expect(guard.pending()).toEqual([]);
  });

  test("and is still pending a day later is delivered once more, not all at once, and then never again", async () => {
    const { guard } = await openGuard();
    const { requests, report } = collector();
    guard.report(report);
    const lost = idsOf("lost", 40);
    guard.record(lost);
    await pass(5000);
    expect(requests.flatMap(({ ids }) => ids)).toEqual(lost);
    const deliveredAt = requests.splice(0)[0]?.at ?? 0;
    // What is delivered and covered meanwhile changes nothing.
    guard.record(idsOf("later", 3));
    await pass(5000);
    guard.apply(await shippedSnapshot(idsOf("later", 3)));
    requests.length = 0;
    await pass(24 * 60 * MINUTE_MS - 20_000);
    expect(requests).toEqual([]);
    await pass(7 * 60 * MINUTE_MS);
    expect(requests.flatMap(({ ids }) => ids).toSorted()).toEqual(lost.toSorted());
    expect(requests.length).toBeGreaterThan(20);
    expect((requests.at(-1)?.at ?? 0) - deliveredAt).toBeLessThanOrEqual(30 * 60 * MINUTE_MS + 10_000);
    await pass(72 * 60 * MINUTE_MS);
    expect(requests.flatMap(({ ids }) => ids)).toHaveLength(40);
    expect(guard.pending()).toEqual(lost);
  });
});

describe("across visits", () => {
  test("the next page delivers impressions that a crashed page did not deliver, covered or not, and no others", async () => {
    const [storage, namespace] = [new MapStorage(), uniqueNamespace()];
    const first = await openGuard({ storage, namespace }, newPage());
    const early = collector();
    first.guard.report(early.report);
    first.guard.record(["delivered", "delivered, too"]);
    await pass(5000);
    expect(early.requests).toHaveLength(1);
    early.state.isDown = true;
    first.guard.record(["not delivered", "covered, not delivered"]);
    first.guard.apply(await shippedSnapshot(["covered, not delivered"]));
    await first.guard.flush({ timeoutMs: 0 });
    // It is never closed.

    const second = await openGuard({ storage, namespace }, newPage());
    const { requests, report } = collector();
    second.guard.report(report);
    await pass(60 * MINUTE_MS);
    expect(requests.map(({ ids }) => ids)).toEqual([["not delivered", "covered, not delivered"]]);
    await second.guard.close();

    const third = await openGuard({ storage, namespace }, newPage());
    const last = collector();
    third.guard.report(last.report);
    await pass(60 * MINUTE_MS);
    expect(last.requests).toEqual([]);
    // No visit keeps a snapshot: what one has covered is pending until the next one comes.
    third.guard.apply(await shippedSnapshot(["covered, not delivered"]));
    expect(third.guard.pending()).toEqual(["delivered", "delivered, too", "not delivered"]);
  });

  test("a page that dies while a request is under way leaves its impressions to the next", async () => {
    const [storage, namespace] = [new MapStorage(), uniqueNamespace()];
    const first = await openGuard({ storage, namespace }, newPage());
    const sent: string[] = [];
    const send: NonNullable<ReportOptions["send"]> = ({ impressions }) => {
      sent.push(...impressions.map(({ id }) => id));
      return new Promise(() => {});
    };
    first.guard.report({ url: "/", send });
    first.guard.record("under way");
    await pass(5000);
    await settled();
    expect(sent).toEqual(["under way"]);
    const second = await openGuard({ storage, namespace }, newPage());
    const { requests, report } = collector();
    second.guard.report(report);
    await pass(5000);
    expect(requests.map(({ ids }) => ids)).toEqual([["under way"]]);
  });

  test("an impression lost in one visit is delivered once more in another, a day later", async () => {
    const [storage, namespace] = [new MapStorage(), uniqueNamespace()];
    const visit = async (hours: number): Promise<string[]> => {
      const { guard } = await openGuard({ storage, namespace }, newPage());
      const { requests, report } = collector();
      guard.report(report);
      if (hours === 0) guard.record("lost");
      // Without a snapshot nothing tells that it was lost.
      guard.apply(await shippedSnapshot(["another"]));
      await pass(10_000);
      await guard.close();
      return requests.flatMap(({ ids }) => ids);
    };
    const [delivered, start]: [string[][], number] = [[], Date.now()];
    for (const hours of [0, 12, 23, 31, 40, 80]) {
      vi.setSystemTime(start + hours * 60 * MINUTE_MS);
      delivered.push(await visit(hours));
    }
    expect(delivered).toEqual([["lost"], [], [], ["lost"], [], []]);
  });
});

test("a transport that answers at once does not keep the page from everything else", async () => {
  vi.useRealTimers();
  const { guard } = await openGuard();
  const batchesATask: number[] = [0];
  const count = setInterval(() => batchesATask.push(0), 0);
  const send = () => {
    batchesATask.push((batchesATask.pop() ?? 0) + 1);
    return Promise.resolve();
  };
  guard.record(idsOf("item", 3_000));
  guard.report({ url: "/", send, intervalMs: 1 });
  await expect.poll(() => batchesATask.reduce((sum, batches) => sum + batches, 0)).toBe(30);
  clearInterval(count);
  expect(Math.max(...batchesATask)).toBeLessThan(5);
});
