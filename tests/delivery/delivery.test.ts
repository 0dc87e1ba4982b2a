/**
 * Delivery over time: batches, failures and their delays, repeated deliveries, and what the next visit delivers.
 */
import type { Impression, Report, ReportOptions, SeenGuard } from "seenguard";
import { describe, expect, test, vi } from "vitest";
import { idsOf, MapStorage, newPage, openGuard, uniqueNamespace } from "../support/node.js";
import { retryDelayMs } from "../../js/platform/host.js";
import { pass, useFakeTimers } from "../support/clocks.js";

const MINUTE_MS = 60_000;

useFakeTimers();

/** A server that acknowledges impressions, unless it is down. */
function collector() {
  const requests: { at: number; ids: string[]; impressions: readonly Impression[] }[] = [];
  const state = { isDown: false };
  const send: NonNullable<ReportOptions["send"]> = ({ impressions }) => {
    requests.push({ at: performance.now(), ids: impressions.map(({ id }) => id), impressions });
    return state.isDown ? Promise.reject(new Error("down")) : Promise.resolve();
  };
  return { requests, state, report: { url: "/impressions", send } };
}

/** The guard of a visit after one that has recorded these and delivered nothing. */
async function openAfterVisit(recorded: readonly string[]): Promise<SeenGuard> {
  const [storage, namespace] = [new MapStorage(), uniqueNamespace()];
  const former = await openGuard({ storage, namespace });
  former.guard.record(recorded);
  await former.guard.close();
  return (await openGuard({ storage, namespace }, newPage())).guard;
}

describe("report", () => {
  test("delivers impressions a second after the latest one, oldest first, each with its time", async () => {
    const { guard } = await openGuard();
    const { requests, report } = collector();
    guard.report(report);
    const start = Date.now();
    guard.record("a");
    await pass(999);
    guard.record(["b", 7]);
    await pass(999);
    expect(requests).toEqual([]);
    await pass(1);
    expect(requests.map(({ impressions }) => impressions)).toEqual([
      [
        { id: "a", at: start },
        { id: "b", at: start + 999 },
        { id: "7", at: start + 999 },
      ],
    ]);
    await pass(10 * MINUTE_MS);
    expect(requests).toHaveLength(1);
    // It is delivered, and pending until a snapshot contains it.
    expect(guard.pending()).toEqual(["a", "b", "7"]);
  });

  test("delivers an impression five seconds after it was recorded at the latest, while others follow", async () => {
    const { guard } = await openGuard();
    const { requests, report } = collector();
    guard.report(report);
    const start = performance.now();
    for (let index = 0; index < 20; index++) {
      guard.record(`item-${String(index)}`);
      await pass(900);
    }
    await pass(1000);
    const delays = requests.flatMap(({ at, ids }) =>
      ids.map((id) => at - start - 900 * Number(id.replace("item-", ""))),
    );
    expect(delays).toHaveLength(20);
    expect(Math.max(...delays)).toBeLessThanOrEqual(5000);
    expect(requests).toHaveLength(4);
  });

  test("waits a fifth of its interval after the latest impression, whatever the interval is", async () => {
    const { guard } = await openGuard();
    const { requests, report } = collector();
    guard.report({ ...report, intervalMs: MINUTE_MS });
    guard.record("a");
    await pass(MINUTE_MS / 5 - 1);
    expect(requests).toEqual([]);
    await pass(1);
    expect(requests).toHaveLength(1);
  });

  test("delivers impressions recorded during a request a second later, in a request of their own", async () => {
    const { guard } = await openGuard();
    const requests: string[][] = [];
    const send: NonNullable<ReportOptions["send"]> = async ({ impressions }) => {
      requests.push(impressions.map(({ id }) => id));
      await new Promise((resolve) => setTimeout(resolve, 300));
    };
    guard.report({ send });
    guard.record("a");
    await pass(1200);
    guard.record("b");
    await pass(999);
    expect(requests).toEqual([["a"]]);
    await pass(1);
    expect(requests).toEqual([["a"], ["b"]]);
  });

  test("waits no longer after a clock that was set back a day", async () => {
    const { guard } = await openGuard();
    const { requests, report } = collector();
    guard.report(report);
    guard.record("a");
    vi.setSystemTime(Date.now() - 86_400_000);
    guard.record("b");
    await pass(1000);
    expect(requests.map(({ ids }) => ids)).toEqual([["a", "b"]]);
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
        now: start + 1000,
        impressions: [{ id: "b", at: start }],
        unseen: [{ id: "a", at: start }],
      },
      {
        ...{ namespace, pending },
        now: start + 7000,
        impressions: [],
        unseen: [
          { id: "b", at: start + 6000 },
          { id: "of another device", at: start + 6000 },
        ],
      },
    ]);
  });

  test("does not wait for the interval when many are undelivered", async () => {
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

  test("delivers several impressions at a time, though many of earlier visits are not due yet", async () => {
    const guard = await openAfterVisit(idsOf("former", 60));
    const { requests, report } = collector();
    guard.report(report);
    for (const id of idsOf("new", 20)) {
      guard.record(id);
      await pass(100);
    }
    await pass(1000);
    expect(requests.map(({ ids }) => ids)).toEqual([idsOf("new", 20)]);
    await pass(15_000);
    expect(requests.slice(1).flatMap(({ ids }) => ids)).toEqual(idsOf("former", 60));
  });

  test("does not wait when many are undelivered, though many of earlier visits are not due yet", async () => {
    const guard = await openAfterVisit(idsOf("former", 60));
    const { requests, report } = collector();
    guard.report(report);
    await pass(1500);
    guard.record(idsOf("new", 50));
    await pass(0);
    expect(requests.map(({ ids }) => ids)).toEqual([idsOf("new", 50)]);
  });

  test("delivers impressions when the guard closes, and stores that they were acknowledged", async () => {
    const [storage, namespace] = [new MapStorage(), uniqueNamespace()];
    const { guard } = await openGuard({ storage, namespace });
    const { requests, report } = collector();
    guard.report(report);
    guard.record(idsOf("a", 300));
    guard.report(report)();
    const closing = guard.close();
    await pass(100);
    await closing;
    expect(new Set(requests.flatMap(({ ids }) => ids))).toEqual(new Set(idsOf("a", 300)));
    await pass(10 * MINUTE_MS);
    const next = await openGuard({ storage, namespace }, newPage());
    next.guard.report(report);
    await pass(MINUTE_MS);
    expect(requests.flatMap(({ ids }) => ids)).toHaveLength(300);
  });

  test("passes `Seen-Pending` and the reason with each report", async () => {
    const { guard } = await openGuard();
    const reports: [Report, string][] = [];
    const send: NonNullable<ReportOptions["send"]> = (report, reason) =>
      Promise.resolve(void reports.push([report, reason]));
    guard.report({ send });
    guard.record("a");
    const { "Seen-Pending": pending } = guard.headers();
    await pass(5100);
    guard.record("b");
    await guard.deliver();
    guard.record("c");
    await guard.close();
    expect(reports.map(([, reason]) => reason)).toEqual(["interval", "deliver", "deliver"]);
    expect(reports[0]?.[0].pending).toBe(pending);
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

describe("a server that fails", () => {
  test("is retried with delays that double up to five minutes, with jitter, and reported once", async () => {
    const { guard, codes } = await openGuard();
    const { requests, state, report } = collector();
    guard.report(report);
    state.isDown = true;
    guard.record("a");
    await pass(60 * MINUTE_MS);
    // Recording meanwhile does not shorten the delay.
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

  /** Ways to deliver, each with a part of the app or the network that waits for `answered`. */
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
    test(`whose ${what} never resolves is reported once, and retried until it responds`, async () => {
      const { guard, codes } = await openGuard();
      let hangs = true;
      const delivered: string[] = [];
      const answered = () => (hangs ? new Promise<never>(() => {}) : Promise.resolve());
      const options = transports[what]?.(answered, (ids) => delivered.push(...ids));
      guard.report(options ?? { url: "" });
      guard.record("a");
      await pass(1000 + limitMs - 1);
      expect(codes()).toEqual([]);
      await pass(limitMs);
      expect(codes()).toEqual(["delivery"]);
      await pass(10 * MINUTE_MS);
      expect(codes()).toEqual(["delivery"]);
      hangs = false;
      await pass(6 * MINUTE_MS);
      expect(delivered).toEqual(["a"]);
      expect(codes()).toEqual(["delivery"]);
    });
  }

  test("is retried after a network failure, though no browser reports that the network is back", async () => {
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
    test(`and responds with Retry-After: ${header} gets no request until then, or for about an hour at most`, async () => {
      vi.setSystemTime(Date.parse("2000-01-01T00:00:00Z") - 1000);
      const times: number[] = [];
      vi.stubGlobal("fetch", () => {
        times.push(performance.now());
        const refuses = times.length === 1;
        return Promise.resolve(new Response(null, refuses ? { status: 503, headers: { "retry-after": header } } : {}));
      });
      const { guard } = await openGuard();
      guard.report({ url: "/impressions" });
      guard.record("a");
      await pass(1000);
      await pass(mostMs);
      const [first = 0, second = 0] = times;
      expect(times).toHaveLength(2);
      expect(second - first).toBeGreaterThanOrEqual(leastMs);
    });
  }
});

test("a transport that resolves at once does not block other tasks", async () => {
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

describe("the delay before another attempt", () => {
  test.each([
    [0, 1_000],
    [1, 2_000],
    [3, 8_000],
    [10, 60_000],
    [2_000, 60_000],
  ])("after %d failures is at most %d ms, at least half of that, and not always the same", (failures, most) => {
    const delays = Array.from({ length: 100 }, () => retryDelayMs(failures, 60_000));
    expect(Math.max(...delays)).toBeLessThanOrEqual(most);
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(most / 2);
    expect(new Set(delays).size).toBeGreaterThan(1);
  });
});
