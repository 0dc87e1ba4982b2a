/**
 * The load: readers who each ask for a page every 10 to 30 s, on one of two devices, and report what they have looked
 * at, through the server's HTTP API. What fails is tried again, as a page does; a ledger outside of the server keeps what
 * was acknowledged, and what each device has told before the other one asked.
 */
import { setTimeout as pause } from "node:timers/promises";
import { build, type Histogram } from "hdr-histogram-js";
import { SeenGuard, type Impression, type Report, type SeenStorage, type Snapshot } from "seenguard";
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

interface Device {
  readonly guard: SeenGuard;
  /** Looked at and not acknowledged yet. */
  waiting: Impression[];
  /** What it had pending when a report was acknowledged last, unless Redis was down meanwhile. */
  told: ReadonlySet<string>;
}

interface Reader {
  readonly user: string;
  readonly random: Random;
  readonly acknowledged: Set<string>;
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
  /** What came on a device although it, or the other one, had shown it. */
  readonly repeats: string[] = [];
  /** Items that pages left out because the other device had shown them. */
  leftOut = 0;
  /** How often Redis went down and came back: odd while it is down. */
  storeEvents = 0;
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
    const [phone, tablet] = [await openDevice(`phone:${reader.user}`), await openDevice(`tablet:${reader.user}`)];
    while (!this.isOver) {
      const [device, other] = reader.random() < 0.5 ? [phone, tablet] : [tablet, phone];
      const items = await this.askPage(reader, device, other);
      await this.rest(reader, LOOK_MS);
      const looked = items.slice(0, 1 + Math.floor(reader.random() * MOST_LOOKED_AT)).flatMap(idsOf);
      device.guard.record(looked);
      device.waiting.push(...looked.map((id) => ({ id, at: Date.now() })));
      await this.report(reader, device);
      await this.rest(reader, REST_MS);
    }
    for (const device of [phone, tablet]) {
      while (device.waiting.length > 0 && !(await this.report(reader, device))) await this.backOff(reader);
      await device.guard.close();
    }
  }

  private async rest({ random }: Reader, [least, most]: readonly [number, number]): Promise<void> {
    if (!this.isOver) await pause(least + random() * (most - least));
  }

  private async askPage(reader: Reader, { guard }: Device, other: Device): Promise<Item[]> {
    while (!this.isOver) {
      const path = `/api/users/${reader.user}/feed?turn=${String(reader.turn)}&size=${String(PAGE_SIZE)}`;
      const told = new Set([...guard.pending(), ...other.told]);
      const times = this.isDisturbed ? this.disturbed : this.calm;
      const page = await this.ask<Page>(path, times, { headers: guard.headers() });
      if (page !== undefined) {
        reader.turn++;
        reader.failures = 0;
        guard.apply(page.seen);
        const elsewhere = new Set(page.elsewhere);
        this.leftOut += elsewhere.size;
        const shown = guard.filter(page.items, idsOf).filter(({ id }) => !elsewhere.has(id));
        this.repeats.push(
          ...shown
            .flatMap(idsOf)
            .filter((id) => told.has(id))
            .map((id) => `${reader.user} ${id}`),
        );
        return shown;
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
  private async report(reader: Reader, device: Device): Promise<boolean> {
    const impressions = device.waiting;
    const [pending, told] = [device.guard.headers()["Seen-Pending"] ?? "", new Set(device.guard.pending())];
    const body: Report = { namespace: `home:${reader.user}`, now: Date.now(), impressions, pending };
    const init = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
    const before = this.storeEvents;
    const answer = await this.ask<object>(`/api/users/${reader.user}/impressions`, this.reports, init);
    if (answer === undefined) return false;
    for (const { id } of impressions) reader.acknowledged.add(id);
    device.waiting = device.waiting.slice(impressions.length);
    // While Redis is down, what a device tells may not be kept, and the report counts all the same.
    const isKept = before % 2 === 0 && before === this.storeEvents;
    device.told = isKept ? told : new Set();
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

interface Item {
  readonly id: string;
  readonly copyOf?: { readonly id: string };
}

/** A copy has the id of its original, too. */
const idsOf = ({ id, copyOf }: Item): string[] => (copyOf ? [id, copyOf.id] : [id]);

interface Page {
  readonly items: readonly Item[];
  readonly seen: Snapshot;
  /** Of these, what another device has shown. */
  readonly elsewhere: readonly string[];
}

/** With a storage, since a guard without one has no device name. Those of one process are told apart by namespaces. */
async function openDevice(namespace: string): Promise<Device> {
  const values = new Map<string, string>();
  const storage: SeenStorage = {
    get: (key) => values.get(key),
    set: (key, value) => void values.set(key, value),
    remove: (key) => void values.delete(key),
    keys: () => [...values.keys()],
  };
  return { guard: await SeenGuard.open({ namespace, storage }), waiting: [], told: new Set() };
}

export const userOf = (number: number): string => `reader-${String(number)}`;
