/**
 * A thousand clients in an outage of three hours: how many requests they make, and that the stream's own outage costs
 * none at all.
 */
import { SeenGuard, type Report } from "seenguard";
import { ShardChain } from "seenguard/server";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { NOW, Random, uniqueNamespace } from "../support/node.js";
import { VirtualClock } from "../support/clocks.js";

const CLIENTS = 1000;
const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** The outage begins at this time, and ends three hours later. */
const BEGIN_MS = HOUR_MS / 2;
const END_MS = BEGIN_MS + 3 * HOUR_MS;
/** The end of the simulation, an hour after the outage. */
const OVER_MS = END_MS + HOUR_MS;

type Outage = "none" | "stream" | "collector";

/** The counts of all clients together. */
interface Count {
  requests: number;
  during: number;
  impressions: number;
  /** Deliveries of an impression that the collector had already. */
  again: number;
  undelivered: number;
  pending: number;
  /** The most requests in one second after the outage. */
  rush: number;
}

/** One person on one device: a page of ten items every four minutes or so, each page with the server's state. */
async function live(outage: Outage, seed: number, count: Count, perSecond: number[]): Promise<void> {
  const random = new Random(seed);
  const clock = new VirtualClock(NOW * 1000);
  clock.install();
  // Visits do not begin at the same time.
  await clock.runUntil(5 * MINUTE_MS * random.next());
  const isOut = () => clock.now >= BEGIN_MS && clock.now < END_MS;
  const chain = await ShardChain.create();
  const guard = await SeenGuard.open({ namespace: uniqueNamespace(), storage: "none", onError: () => undefined });
  const arrived = new Set<string>();
  let stream: string[] = [];
  const send = ({ impressions }: Report) => {
    count.requests++;
    if (isOut()) count.during++;
    if (clock.now >= END_MS) {
      const second = Math.floor((clock.now - END_MS) / 1000);
      perSecond[second] = (perSecond[second] ?? 0) + 1;
    }
    if (outage === "collector" && isOut()) return Promise.reject(new Error("no collector"));
    for (const { id } of impressions) {
      if (arrived.has(id)) count.again++;
      arrived.add(id);
      stream.push(id);
    }
    return Promise.resolve();
  };
  guard.report({ url: "/impressions", send, intervalMs: MINUTE_MS });
  let shown = 0;
  const visit = () => {
    if (outage !== "stream" || !isOut()) {
      chain.record(stream, { now: NOW });
      stream = [];
    }
    guard.apply({ shards: chain.snapshot({ now: NOW }).shards });
    // Nothing is shown in the last quarter of an hour, so that the stream can catch up.
    if (clock.now < OVER_MS - 15 * MINUTE_MS) guard.record(Array.from({ length: 10 }, () => `id-${String(shown++)}`));
    if (clock.now < OVER_MS) clock.at(clock.now + 4 * MINUTE_MS * (0.5 + random.next()), visit);
  };
  visit();
  await clock.runUntil(OVER_MS);
  chain.record(stream, { now: NOW });
  guard.apply({ shards: chain.snapshot({ now: NOW }).shards });
  count.impressions += shown;
  count.undelivered += shown - arrived.size;
  count.pending += guard.pending().length;
  vi.unstubAllGlobals();
  await guard.close();
  chain.free();
}

async function simulate(outage: Outage): Promise<Count> {
  const count = { requests: 0, during: 0, impressions: 0, again: 0, undelivered: 0, pending: 0, rush: 0 };
  const perSecond: number[] = [];
  for (let client = 0; client < CLIENTS; client++) await live(outage, client, count, perSecond);
  count.rush = Math.max(0, ...perSecond.filter(Boolean));
  console.log(
    `${String(CLIENTS)} clients, three hours without ${outage === "none" ? "any outage" : `the ${outage}`}: ` +
      `${String(count.during)} requests in them, ${String(count.requests)} in four and a half hours, ` +
      `${String(count.impressions)} impressions, ${String(count.again)} delivered again, at most ${String(count.rush)} requests a second afterwards`,
  );
  return count;
}

describe("three hours of a thousand clients", { timeout: 300_000 }, () => {
  beforeEach(() => {
    const random = new Random(0);
    vi.spyOn(Math, "random").mockImplementation(() => random.next());
  });
  afterEach(() => {
    vi.restoreAllMocks();
    vi.unstubAllGlobals();
  });

  let calm: Count;
  test("without an outage make one request for each burst of impressions, and deliver nothing twice", async () => {
    calm = await simulate("none");
    expect(calm).toMatchObject({ again: 0, undelivered: 0, pending: 0 });
  });

  test("without the stream make no additional request, then or afterwards", async () => {
    const count = await simulate("stream");
    expect(count).toMatchObject({ ...calm, again: 0, undelivered: 0, pending: 0 });
  });

  test("without the collector try every few minutes each, and deliver everything once afterwards", async () => {
    const count = await simulate("collector");
    expect(count).toMatchObject({ again: 0, undelivered: 0, pending: 0 });
    // Delays double up to five minutes: about 9 attempts until then, and 46 more.
    expect(count.during / CLIENTS).toBeLessThan(65);
    // They come back over minutes, not all at once.
    expect(count.rush).toBeLessThan(CLIENTS / 10);
  });
});
