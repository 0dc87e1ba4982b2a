/** The load on the servers, sent by autocannon. */
import autocannon from "autocannon";
import { SeenGuard, type Snapshot } from "seenguard";
import { candidatesOf, shortIds } from "../ids.ts";
import { nameOf, namespaceOf, recommended } from "../scale/chains.ts";

/** The number of concurrent requests. */
export const CONNECTIONS = 16;
export const CANDIDATES = 2000;
export const PAGE_SIZE = 20;
export const IMPRESSIONS = 10;

/** A generator of requests. */
export type Work = () => autocannon.Request;

export interface Answers {
  readonly requests: number;
  readonly requestsPerSecond: number;
  /** The latency in milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

/** Sends requests for a time, or a number of them, as fast as possible or at a rate. */
export async function offer(
  url: string,
  work: Work,
  how: Pick<autocannon.Options, "duration" | "amount" | "overallRate" | "connections">,
): Promise<Answers> {
  const result = await autocannon({
    url,
    connections: CONNECTIONS,
    ...how,
    requests: [{ setupRequest: (request) => ({ ...request, ...work() }) }],
  });
  const { requests, latency, errors, timeouts, non2xx, duration } = result;
  if (errors + timeouts + non2xx > 0)
    throw new Error(`of ${String(requests.total)} requests ${String(errors + timeouts + non2xx)} failed`);
  const { p50, p99 } = latency;
  return { requests: requests.total, requestsPerSecond: requests.total / duration, p50, p99 };
}

const shownTo = (user: number) => shortIds(recommended.capacity * (recommended.shards - 1), user);

/** Fills each user's chain by reports. */
export async function fillUsers(url: string, users: number): Promise<void> {
  for (let user = 0; user < users; user++) {
    const ids = shownTo(user);
    for (let from = 0; from < ids.length; from += 1000) {
      const { path = "", ...request } = reportOf(nameOf(user), ids.slice(from, from + 1000));
      const answer = await fetch(url + path, request as RequestInit);
      if (!answer.ok) throw new Error(await answer.text());
    }
  }
}

/** Page requests of these users in turn. A quarter of the candidates was seen, and the devices have the shards. */
export async function pagesOf(url: string, users: number): Promise<Work> {
  const requests: autocannon.Request[] = [];
  for (let user = 0; user < users; user++) {
    const ranked = candidatesOf(shownTo(user), CANDIDATES, shortIds, 1000 + user);
    const request = pageOf(nameOf(user), ranked);
    const answer = await fetch(`${url}/v1/users/${nameOf(user)}/page`, request as RequestInit);
    const { items, snapshot } = (await answer.json()) as { items: unknown[]; snapshot: Snapshot };
    if (items.length !== PAGE_SIZE || snapshot.shards.length < recommended.shards / 2)
      throw new Error(
        `${String(items.length)} items and ${String(snapshot.shards.length)} shards are not the page meant`,
      );
    requests.push(pageOf(nameOf(user), ranked, await heldAfter(user, snapshot)));
  }
  return cycle(requests);
}

async function heldAfter(user: number, snapshot: Snapshot): Promise<string> {
  const guard = await SeenGuard.open({ namespace: namespaceOf(nameOf(user)), storage: "none" });
  guard.apply(snapshot);
  const held = guard.headers()["Seen-Held"] ?? "";
  await guard.close();
  return held;
}

let made = 0;

/** Reports of these users in turn, each with new impressions. */
export function reportsOf(users: number): Work {
  const next = () => String(made++).padStart(14, "0");
  let reports = 0;
  return () => reportOf(nameOf(reports++ % users), Array.from({ length: IMPRESSIONS }, next));
}

function cycle(requests: readonly autocannon.Request[]): Work {
  let next = 0;
  return () => requests[next++ % requests.length] ?? {};
}

/** A new object each time, since autocannon adds the length to it. */
const jsonType = () => ({ "content-type": "application/json" });

function pageOf(user: string, ranked: readonly string[], held?: string): autocannon.Request {
  return {
    method: "POST",
    path: `/v1/users/${user}/page`,
    headers: { ...jsonType(), ...(held !== undefined && { "seen-held": held }) },
    body: JSON.stringify({ ranked, size: PAGE_SIZE }),
  };
}

export function reportOf(user: string, ids: readonly string[]): autocannon.Request {
  const now = Date.now();
  const report = { namespace: namespaceOf(user), now, impressions: ids.map((id) => ({ id, at: now })) };
  return { method: "POST", path: `/v1/users/${user}/impressions`, headers: jsonType(), body: JSON.stringify(report) };
}
