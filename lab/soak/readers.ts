/**
 * The load: readers who each request a page every 10 to 30 s, on one of two devices, and report what they have looked
 * at, over HTTP. What fails is retried, as a page does; a ledger outside of the server records what each device has
 * shown, and what was acknowledged before the other one's request.
 */
import { setTimeout as pause } from "node:timers/promises";
import { build, type Histogram } from "hdr-histogram-js";
import { SeenGuard, type Impression, type Report, type SeenStorage, type Snapshot } from "seenguard";
import { randomOf, type Random } from "../../www/server/random.ts";
import { deviceName } from "../../tests/support/shards.ts";

/** How long a reader looks at a page before the impressions are reported, and then before the next page. */
const LOOK_MS = [3_000, 8_000] as const;
const REST_MS = [7_000, 22_000] as const;
/** All have requested their first page by then. */
const RAMP_MS = 20_000;
const MOST_LOOKED_AT = 6;
/** After a failure, doubling with each, as `report` does. */
const RETRY_MS = 1_000;
const LAST_RETRY_MS = 60_000;
const TIMEOUT_MS = 30_000;
/** Nobody waits longer than this to finish, once the time is over. */
const FINISH_MS = 5_000;
/** For what waits to be acknowledged then. */
const DELIVERY_MS = 120_000;
export const PAGE_SIZE = 10;

/** A page that is degraded was made without what is stored of its reader. */
interface AnyPage {
  readonly snapshot?: Snapshot;
  readonly degraded?: boolean;
}

/** The server as the readers see it. */
export interface Site<Page extends AnyPage> {
  /** The request of a reader's next page, without the headers of the guard. */
  page(reader: Reader): [url: string, init: RequestInit];
  /** Where a reader's next report goes. */
  report(reader: Reader): string;
  /** What an answer would show, if no guard stopped it: the ids of each item. */
  itemsOf(page: Page): readonly (readonly string[])[];
  /** Called with each page, and what the guard has let pass of it, before that counts as shown. */
  note(reader: Reader, page: Page, passed: readonly string[]): void;
}

interface Device {
  readonly guard: SeenGuard;
  /** The items on its screen. */
  readonly shown: Set<string>;
  /** Of that, what is not acknowledged yet. */
  waiting: Impression[];
}

export interface Reader {
  readonly user: string;
  readonly random: Random;
  /** What was on a screen, of either device. */
  readonly shown: Set<string>;
  readonly acknowledged: Set<string>;
  /** Of that, what must come on no device any more. */
  readonly known: Set<string>;
  /** How many pages there were before. */
  turn: number;
  /** In a row. */
  failures: number;
}

export class Load<Page extends AnyPage> {
  /** Microseconds from the request to the parsed answer: of pages while all parts ran for a while, and of reports. */
  readonly calm = newTimes();
  readonly reports = newTimes();
  /** Where the times of pages are recorded: elsewhere while a part is down, and just after. */
  pages = this.calm;
  /** Requests that were not answered, or with 503: a part was down. */
  failed = 0;
  /** Answers that no kill explains. */
  readonly unexpected: string[] = [];
  /** What came on a device that had shown it, or after it was acknowledged for the other one. */
  readonly repeats: string[] = [];
  /** Pages that said that they were degraded, and what came on them that was acknowledged for the other device. */
  readonly degraded = { pages: 0, repeats: 0 };
  /** What was acknowledged while the store was not sure to store it, as `user id`. */
  readonly unsure = new Set<string>();
  /** What was not acknowledged minutes after the end. */
  readonly undelivered: string[] = [];
  /** How often acknowledged reports began to be at risk, or were safe again: odd while they are at risk. */
  storeEvents = 0;
  private readonly readers: readonly Reader[];
  /** By `performance.now`. */
  private endsAt = Infinity;

  constructor(
    private readonly site: Site<Page>,
    users: number,
    seed: number,
    /** The number of the first reader. Two loads in one process have other readers: guards of one namespace are one. */
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

  /** Everybody reads until the time is over, then delivers what waits. */
  async run(durationMs: number): Promise<void> {
    this.endsAt = performance.now() + durationMs;
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

  /** The items of the next page that the guard lets pass, each by its ids. */
  private async requestPage(reader: Reader, { guard, shown }: Device): Promise<readonly (readonly string[])[]> {
    while (!this.isOver) {
      const [url, init] = this.site.page(reader);
      const known = new Set([...shown, ...reader.known]);
      const before = this.pages;
      // One that was requested before a fault has met it, too.
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
        // Of what this device has shown, its guard stops all.
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

  /** Whether what waits was acknowledged. */
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

  /** The answer, its time recorded; `undefined` if a part was down. */
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
 * With a storage, since a guard without one has no device name. Guards of one namespace in one process are one: a
 * reader's devices are opened for two.
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

/** What a device sends, under a name of its reader's namespace, as if it were in a process of its own. */
function headersOf(reader: Reader, guard: SeenGuard): Record<string, string> {
  const { "Seen-Pending": pending = "", ...others } = guard.headers();
  return { ...others, "Seen-Pending": deviceName(namespaceOf(reader), 0).slice(0, 4) + pending.slice(4) };
}

const namespaceOf = ({ user }: Reader): string => `home:${user}`;
export const userOf = (number: number): string => `reader-${String(number)}`;
