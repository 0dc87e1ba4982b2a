/** The traffic between a device and a server, measured with a guard, a chain and a posted report. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { brotliCompressSync, constants } from "node:zlib";
import { SeenGuard, type Snapshot } from "seenguard";
import { ShardChain } from "seenguard/server";
import { shortIds } from "../ids.ts";
import { DAY_SECONDS, PER_DAY, readUpToNow, type Age, type Sizes } from "./chains.ts";

/** Bytes of the response's field `snapshot` as JSON. */
export interface Weight {
  readonly plain: number;
  readonly brotli: number;
}

export interface WireBytes {
  readonly age: string;
  /** The response for a device without shards. */
  readonly first: Weight;
  /** The response for a device with the previous response's shards. */
  readonly refresh: Weight;
  /** The value of a device's `Seen-Held`. */
  readonly held: number;
}

const IMPRESSIONS_A_REFRESH = 10;
const REFRESHES_A_DAY = PER_DAY / IMPRESSIONS_A_REFRESH;

/** Measures the refreshes of some days, with each fill of the newest shard. */
export async function weighWire(sizes: Sizes, age: Age, days: number): Promise<WireBytes> {
  const chain = await ShardChain.create(sizes);
  const guard = await SeenGuard.open({ namespace: "scale", storage: "none" });
  readUpToNow(chain, age, 1);
  const first = chain.snapshot();
  guard.apply(first);
  const weights: Weight[] = [];
  let held = 0;
  const start = Math.floor(Date.now() / 1000);
  for (let refresh = 0; refresh < days * REFRESHES_A_DAY; refresh++) {
    const now = start + Math.floor((refresh * DAY_SECONDS) / REFRESHES_A_DAY);
    chain.record(shortIds(IMPRESSIONS_A_REFRESH, 1_000_000 + refresh), { now });
    const { "Seen-Held": named = "" } = guard.headers();
    held += named.length;
    const snapshot = chain.snapshot({ held: named, now });
    if (!guard.apply(snapshot).applied) throw new Error("a refresh was not applied");
    weights.push(weigh(snapshot));
  }
  chain.free();
  await guard.close();
  const mean = (of: (weight: Weight) => number) =>
    weights.reduce((sum, weight) => sum + of(weight), 0) / weights.length;
  const refresh = {
    plain: mean(({ plain }) => plain),
    brotli: mean(({ brotli }) => brotli),
  };
  return { age: age.name, first: weigh(first), refresh, held: held / weights.length };
}

/** The sizes of a snapshot, uncompressed and with brotli at 5, as servers compress responses. */
function weigh(snapshot: Snapshot): Weight {
  const text = JSON.stringify(snapshot);
  const quick = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } };
  return { plain: text.length, brotli: brotliCompressSync(text, quick).length };
}

/** The bytes of `guard.report`'s request body with this number of impressions. */
export async function weighReport(impressions: number): Promise<number> {
  const guard = await SeenGuard.open({ namespace: "home:user-10000000", storage: "none" });
  const { url, body } = await receiveOne();
  guard.report({ url, intervalMs: 60_000 });
  guard.record(shortIds(impressions, 5));
  await guard.flush();
  await guard.close();
  return (await body).length;
}

/** Starts a server for one request. */
async function receiveOne(): Promise<{ url: string; body: Promise<string> }> {
  const server = createServer();
  const body = new Promise<string>((resolve) => {
    server.once("request", (request, response) => {
      response.writeHead(204, { connection: "close" });
      resolve(text(request));
      request.once("end", () => response.end());
      server.close();
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  return { url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/`, body };
}
