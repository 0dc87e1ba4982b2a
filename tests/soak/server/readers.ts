/**
 * The load: readers who each ask for a page every 10 to 30 s and report what they have looked at, through the server's
 * HTTP API. What fails is tried again, as a page does; a ledger outside of the server keeps what was acknowledged.
 */
import { setTimeout as pause } from "node:timers/promises";
import { build, type Histogram } from "hdr-histogram-js";
import type { Impression, Report } from "seenguard";
import { randomOf, type Random } from "../../../www/server/random.ts";

/** How long a reader looks at a page before the impressions are reported, and then before the next page. */
const LOOK_MS = [3_000, 8_000] as const;
const REST_MS = [7_000, 22_000] as const;
/** All have asked for their first page by then. */
const RAMP_MS = 20_000;
const MOST_LOOKED_AT = 6;
/** After a failure, doubling with each, as `report` does. */
const RETRY_MS = 1_000;
const LAST_RETRY_MS = 60_000;
const TIMEOUT_MS = 30_000;
const PAGE_SIZE = 10;

interface Reader {
  readonly user: string;
  readonly random: Random;
  readonly acknowledged: Set<string>;
  /** Looked at and not acknowledged yet. */
  waiting: Impression[];
  turn: number;
  /** In a row. */
  failures: number;
}

export class Load {
  /** Microseconds from the request to the parsed answer: while all parts ran for a while, and otherwise. */
  readonly calm = build({ numberOfSignificantValueDigits: 3 });
  readonly disturbed = build({ numberOfSignificantValueDigits: 3 });
  readonly reports = build({ numberOfSignificantValueDigits: 3 });
  /** Requests that were not answered, or with 503: a part was down. */
  failed = 0;
  /** Answers that no kill explains. */
  readonly unexpected: string[] = [];
  /** Whether a part is down or has just been started again. */
  isDisturbed = false;
  private readonly readers: readonly Reader[];
  private isOver = false;

  constructor(
    private readonly url: string,
    users: number,
    seed: number,
  ) {
    this.readers = Array.from({ length: users }, (_, number) => ({
      user: userOf(number),
      random: randomOf(seed + number),
      acknowledged: new Set(),
      waiting: [],
      turn: 0,
      failures: 0,
    }));
  }

  /** Everybody reads until the time is over, then delivers what waits. */
  async run(durationMs: number): Promise<void> {
    setTimeout(() => (this.isOver = true), durationMs);
    const ramp = Math.min(RAMP_MS, durationMs / 3);
    await Promise.all(this.readers.map((reader) => this.read(reader, ramp)));
  }

  /** What each user's reports were answered for. */
  acknowledged(): Map<string, ReadonlySet<string>> {
    return new Map(this.readers.map(({ user, acknowledged }) => [user, acknowledged]));
  }

  private async read(reader: Reader, rampMs: number): Promise<void> {
    await pause(reader.random() * rampMs);
    while (!this.isOver) {
      const ids = await this.askPage(reader);
      await this.rest(reader, LOOK_MS);
      const looked = ids.slice(0, 1 + Math.floor(reader.random() * MOST_LOOKED_AT));
      reader.waiting.push(...looked.map((id) => ({ id, at: Date.now() })));
      await this.report(reader);
      await this.rest(reader, REST_MS);
    }
    while (reader.waiting.length > 0 && !(await this.report(reader))) await this.backOff(reader);
  }

  private async rest({ random }: Reader, [least, most]: readonly [number, number]): Promise<void> {
    if (!this.isOver) await pause(least + random() * (most - least));
  }

  private async askPage(reader: Reader): Promise<string[]> {
    while (!this.isOver) {
      const path = `/api/users/${reader.user}/feed?turn=${String(reader.turn)}&size=${String(PAGE_SIZE)}`;
      const page = await this.ask<{ items: { id: string }[] }>(path, this.isDisturbed ? this.disturbed : this.calm);
      if (page !== undefined) {
        reader.turn++;
        reader.failures = 0;
        return page.items.map(({ id }) => id);
      }
      await this.backOff(reader);
    }
    return [];
  }

  private backOff(reader: Reader): Promise<void> {
    const ms = Math.min(RETRY_MS * 2 ** reader.failures++, LAST_RETRY_MS);
    return pause(ms * (0.5 + reader.random() / 2));
  }

  /** Whether what waits was acknowledged. */
  private async report(reader: Reader): Promise<boolean> {
    const impressions = reader.waiting;
    const body: Report = { namespace: `home:${reader.user}`, now: Date.now(), impressions };
    const init = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
    const answer = await this.ask<object>(`/api/users/${reader.user}/impressions`, this.reports, init);
    if (answer === undefined) return false;
    for (const { id } of impressions) reader.acknowledged.add(id);
    reader.waiting = reader.waiting.slice(impressions.length);
    reader.failures = 0;
    return true;
  }

  /** The answer, its time noted; `undefined` if a part was down. */
  private async ask<T>(path: string, times: Histogram, init: RequestInit = {}): Promise<T | undefined> {
    const start = performance.now();
    try {
      const response = await fetch(this.url + path, { ...init, signal: AbortSignal.timeout(TIMEOUT_MS) });
      if (!response.ok) {
        const text = await response.text();
        if (response.status !== 503) this.unexpected.push(`${path}: ${String(response.status)} ${text.slice(0, 200)}`);
        this.failed++;
        return undefined;
      }
      const answer = (await response.json()) as T;
      times.recordValue(Math.round((performance.now() - start) * 1000));
      return answer;
    } catch {
      this.failed++;
      return undefined;
    }
  }
}

export const userOf = (number: number): string => `reader-${String(number)}`;
