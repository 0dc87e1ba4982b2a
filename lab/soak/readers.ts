/**
 * The load: each reader requests a page every 10 to 30 s on one of two devices, and reports the impressions over HTTP.
 * Failures are retried, as by a page. A ledger outside of the server records each device's shown ids, and the
 * acknowledged ids before each request.
 */
import { setTimeout as pause } from "node:timers/promises";
import { build, type Histogram } from "hdr-histogram-js";
import { SeenGuard, type Impression, type Report, type SeenStorage, type Snapshot } from "seenguard";
import { randomOf, type Random } from "../../www/server/random.ts";
import { deviceName } from "../../tests/support/shards.ts";

/** The time from a page to the report of its impressions, and then to the next page. */
const LOOK_MS = [3_000, 8_000] as const;
const REST_MS = [7_000, 22_000] as const;
/** The time in which all readers start. */
const RAMP_MS = 20_000;
const MOST_LOOKED_AT = 6;
/** The pause after a failure, which doubles with each, as in `report`. */
const RETRY_MS = 1_000;
const LAST_RETRY_MS = 60_000;
const TIMEOUT_MS = 30_000;
/** The most time to finish a page after the end. */
const FINISH_MS = 5_000;
/** The most time for the acknowledgement of the remaining impressions. */
const DELIVERY_MS = 120_000;
export const PAGE_SIZE = 10;

/** A page. A degraded one was made without the reader's stored data. */
interface AnyPage {
  readonly snapshot?: Snapshot;
  readonly degraded?: boolean;
}

/** The server's interface for readers. */
export interface Site<Page extends AnyPage> {
  /** The request of a reader's next page, without the guard's headers. */
  page(reader: Reader): [url: string, init: RequestInit];
  /** The URL of a reader's next report. */
  report(reader: Reader): string;
  /** The ids of each item of a page, before the guard filters. */
  itemsOf(page: Page): readonly (readonly string[])[];
  /** Called with each page and the ids that passed the guard, before they count as shown. */
  note(reader: Reader, page: Page, passed: readonly string[]): void;
}

interface Device {
  readonly guard: SeenGuard;
  /** The items on its screen. */
  readonly shown: Set<string>;
  /** The shown items that are not acknowledged yet. */
  waiting: Impression[];
}

export interface Reader {
  readonly user: string;
  readonly random: Random;
  /** The items shown on either device. */
  readonly shown: Set<string>;
  readonly acknowledged: Set<string>;
  /** The shown items that no device may show again. */
  readonly known: Set<string>;
  /** The number of previous pages. */
  turn: number;
  /** The consecutive failures. */
  failures: number;
}

export class Load<Page extends AnyPage> {
  /** Microseconds from the request to the parsed answer: of pages while no fault is recent, and of reports. */
  readonly calm = newTimes();
  readonly reports = newTimes();
  /** The histogram of the current pages' times: another one during a fault and just after. */
  pages = this.calm;
  /** Requests without an answer or with 503, while a part was down. */
  failed = 0;
  /** Answers that no fault explains. */
  readonly unexpected: string[] = [];
  /** Items shown again on the same device, or after they were acknowledged for the other one. */
  readonly repeats: string[] = [];
  /** Degraded pages, and their items that were acknowledged for the other device. */
  readonly degraded = { pages: 0, repeats: 0 };
  /** Ids acknowledged while the store could lose them, as `user id`. */
  readonly unsure = new Set<string>();
  /** Ids not acknowledged minutes after the end. */
  readonly undelivered: string[] = [];
  /** The number of starts and ends of phases in which the store may lose acknowledged reports: odd during one. */
  storeEvents = 0;
  private readonly readers: readonly Reader[];
  /** The end of the load, in the time of `performance.now`. */
  private endsAt = Infinity;

  constructor(
    private readonly site: Site<Page>,
    users: number,
    seed: number,
    /**
     * The number of the first reader. Two loads in one process need different readers, since guards of one namespace
     * are shared.
     */
    first = 0,
  ) {
    this.readers = Array.from({ length: users }, (_, index) => ({
      user: userOf(first + index),
      random: randomOf(seed + first + index),
      shown: new Set(),
      acknowledged: new Set(),
      known: new Set(),
      turn: 0,
      failures: 0,
    }));
  }

  /** Runs all readers for this time, then delivers the remaining impressions. */
  async run(durationMs: number): Promise<void> {
    this.endsAt = performance.now() + durationMs;
    const ramp = Math.min(RAMP_MS, durationMs / 3);
    await Promise.all(this.readers.map((reader) => this.read(reader, ramp)));
  }

  /** Each user's acknowledged ids. */
  acknowledged(): Map<string, ReadonlySet<string>> {
    return new Map(this.readers.map(({ user, acknowledged }) => [user, acknowledged]));
  }

  private async read(reader: Reader, rampMs: number): Promise<void> {
    await pause(reader.random() * rampMs);
    const [phone, tablet] = [await openDevice(`phone:${reader.user}`), await openDevice(`tablet:${reader.user}`)];
    while (!this.isOver) {
      const device = reader.random() < 0.5 ? phone : tablet;
      const items = await this.requestPage(reader, device);
      await this.rest(reader, LOOK_MS);
      const looked = items.slice(0, 1 + Math.floor(reader.random() * MOST_LOOKED_AT)).flat();
      device.guard.record(looked);
      for (const id of looked) for (const { shown } of [device, reader]) shown.add(id);
      device.waiting.push(...looked.map((id) => ({ id, at: Date.now() })));
      await this.report(reader, device);
      await this.rest(reader, REST_MS);
    }
    const deadline = performance.now() + DELIVERY_MS;
    for (const device of [phone, tablet]) {
      while (device.waiting.length > 0 && !(await this.report(reader, device)) && performance.now() < deadline)
        await pause(nextRetryMs(reader));
      this.undelivered.push(...device.waiting.map(({ id }) => `${reader.user} ${id}`));
      await device.guard.close();
    }
  }

  private get isOver(): boolean {
    return performance.now() >= this.endsAt;
  }

  private async rest(reader: Reader, [least, most]: readonly [number, number]): Promise<void> {
    await this.pauseBeforeEnd(reader, least + reader.random() * (most - least));
  }

  private async pauseBeforeEnd({ random }: Reader, ms: number): Promise<void> {
    if (!this.isOver) await pause(Math.min(ms, this.endsAt - performance.now() + random() * FINISH_MS));
  }

  /** Requests the next page. Returns the ids of each item that passes the guard. */
  private async requestPage(reader: Reader, { guard, shown }: Device): Promise<readonly (readonly string[])[]> {
    while (!this.isOver) {
      const [url, init] = this.site.page(reader);
      const known = new Set([...shown, ...reader.known]);
      const before = this.pages;
      // A page requested before a fault may have been affected by it.
      const times = () => (before === this.calm ? this.pages : before);
      const page = await this.request<Page>(url, times, {
        ...init,
        headers: { ...JSON_TYPE, ...headersOf(reader, guard) },
      });
      if (page !== undefined) {
        reader.failures = 0;
        guard.apply(page.snapshot);
        const passed = guard.filter(this.site.itemsOf(page), (ids) => ids);
        const ids = passed.flat();
        const repeats = ids.filter((id) => known.has(id));
        // The guard must stop all items that this device has shown.
        const excused = page.degraded === true ? repeats.filter((id) => !shown.has(id)) : [];
        this.repeats.push(...repeats.filter((id) => !excused.includes(id)).map((id) => `${reader.user} ${id}`));
        this.degraded.pages += page.degraded === true ? 1 : 0;
        this.degraded.repeats += excused.length;
        this.site.note(reader, page, ids);
        reader.turn++;
        return passed;
      }
      await this.pauseBeforeEnd(reader, nextRetryMs(reader));
    }
    return [];
  }

  /** Reports the waiting impressions. Returns whether they were acknowledged. */
  private async report(reader: Reader, device: Device): Promise<boolean> {
    const impressions = device.waiting;
    const pending = headersOf(reader, device.guard)["Seen-Pending"] ?? "";
    const body: Report = { namespace: namespaceOf(reader), now: Date.now(), impressions, pending };
    const init = { method: "POST", headers: JSON_TYPE, body: JSON.stringify(body) };
    const before = this.storeEvents;
    const answer = await this.request<object>(this.site.report(reader), () => this.reports, init);
    if (answer === undefined) return false;
    const isSafe = before % 2 === 0 && before === this.storeEvents;
    for (const { id } of impressions) {
      reader.acknowledged.add(id);
      if (isSafe) reader.known.add(id);
      else this.unsure.add(`${reader.user} ${id}`);
    }
    device.waiting = device.waiting.slice(impressions.length);
    reader.failures = 0;
    return true;
  }

  /** Sends a request and records its time. Returns `undefined` if a part was down. */
  private async request<T>(url: string, times: () => Histogram, init: RequestInit): Promise<T | undefined> {
    const start = performance.now();
    try {
      const response = await fetch(url, { ...init, signal: AbortSignal.timeout(TIMEOUT_MS) });
      const text = await response.text();
      if (!response.ok) {
        if (response.status !== 503) this.unexpected.push(`${url}: ${String(response.status)} ${text.slice(0, 200)}`);
        this.failed++;
        return undefined;
      }
      const answer = JSON.parse(text === "" ? "{}" : text) as T;
      times().recordValue(Math.round((performance.now() - start) * 1000));
      return answer;
    } catch {
      this.failed++;
      return undefined;
    }
  }
}

function nextRetryMs(reader: Reader): number {
  const ms = Math.min(RETRY_MS * 2 ** reader.failures++, LAST_RETRY_MS);
  return ms * (0.5 + reader.random() / 2);
}

export const newTimes = (): Histogram => build({ numberOfSignificantValueDigits: 3 });

const JSON_TYPE = { "content-type": "application/json" };

/**
 * Opens a device with a storage, since a guard without one has no device name. Guards of one namespace in one process
 * are shared, so a reader's two devices have two namespaces.
 */
async function openDevice(namespace: string): Promise<Device> {
  const values = new Map<string, string>();
  const storage: SeenStorage = {
    get: (key) => values.get(key),
    set: (key, value) => void values.set(key, value),
    remove: (key) => void values.delete(key),
    keys: () => [...values.keys()],
  };
  return { guard: await SeenGuard.open({ namespace, storage }), shown: new Set(), waiting: [] };
}

/** The guard's headers with the reader's namespace, as of a device in a process of its own. */
function headersOf(reader: Reader, guard: SeenGuard): Record<string, string> {
  const { "Seen-Pending": pending = "", ...others } = guard.headers();
  return { ...others, "Seen-Pending": deviceName(namespaceOf(reader), 0).slice(0, 4) + pending.slice(4) };
}

const namespaceOf = ({ user }: Reader): string => `home:${user}`;
export const userOf = (number: number): string => `reader-${String(number)}`;
