/** The soak of a browser: people, events and samples, then an audit after a last kill. */
import { setTimeout as pause } from "node:timers/promises";
import { randomOf } from "../../../www/server/random.ts";
import { HOUR_MS, VirtualClock } from "./clock.ts";
import { Device } from "./device.ts";
import type { Driver } from "./driver.ts";
import { happen } from "./events.ts";
import { Ledger } from "./ledger.ts";
import { isGuest, isResident, Person, RESIDENTS, VISITOR, type Opening } from "./people.ts";
import { Site } from "./site.ts";
import type { Slot } from "./slot.ts";

/** The speed of the virtual clock. */
export const DAYS_A_MINUTE = 3;
const RATE = DAYS_A_MINUTE * 24 * 60;
export const WINDOW_DAYS = 5;
/** The package's default capacity of the impression table. */
export const REMEMBER = 10_000;
const SAMPLES_A_DAY = 4;
const FILL_BATCH = 1_000;
/**
 * The days after which an idle namespace must be removed: on the second opening, a day or more after one found it idle.
 */
const REMOVED_AFTER_DAYS = WINDOW_DAYS + 5;

export interface BrowserOptions {
  readonly driver: Driver;
  readonly days: number;
  readonly seed: number;
  readonly print: (line: string) => void;
}

/** A sample, of the longest-lived tab unless noted otherwise. */
export interface Sample {
  readonly day: number;
  readonly heap: number | undefined;
  readonly objects: number | undefined;
  readonly nodes: number | undefined;
  readonly listeners: number | undefined;
  readonly wasm: number;
  /** The residents' storage keys, and the number of characters of their keys and values. */
  readonly keys: number;
  readonly characters: number;
  readonly usage: number;
  /** The resident bytes of all the browser's processes. */
  readonly resident: number;
}

export interface BrowserOutcome {
  readonly options: BrowserOptions;
  readonly version: string;
  readonly device: Device;
  readonly ledger: Ledger;
  readonly samples: readonly Sample[];
  readonly openings: readonly Opening[];
  readonly lost: readonly string[];
  /** Namespaces that are still stored although they are idle for longer than the window. */
  readonly leftover: readonly string[];
}

export async function soakBrowser(options: BrowserOptions): Promise<BrowserOutcome> {
  const clock = VirtualClock.start(RATE);
  const site = await Site.start(clock);
  const ledger = new Ledger(clock, WINDOW_DAYS, REMEMBER);
  const device = await Device.start(options.driver, site, ledger, clock, WINDOW_DAYS);
  try {
    return await new Soak(options, device).run();
  } finally {
    await device.stop();
    await site.close();
  }
}

class Soak {
  private readonly samples: Sample[] = [];
  private readonly openings: Opening[] = [];
  private readonly lastUse = new Map<string, number>();
  /** The virtual day on which people start, after the tables are filled. */
  private begunDay = 0;
  private readonly printed = new Set<string>();

  constructor(
    private readonly options: BrowserOptions,
    private readonly device: Device,
  ) {}

  async run(): Promise<BrowserOutcome> {
    const { options, device } = this;
    const { days, seed } = options;
    device.site.lagMs = 0;
    for (const user of RESIDENTS) await this.fillTable(user);
    device.site.lagMs = HOUR_MS;
    this.begunDay = device.clock.day();
    const isOver = () => this.day() >= days;
    const people = device.slots.map(
      (slot) => new Person(slot, device, randomOf(seed * 100 + slot.number), this.openings, this.lastUse),
    );
    const events = happen(device, days, randomOf(seed * 100 + 99), () => this.day());
    await Promise.all([...people.map((person) => person.live(isOver)), events, this.watch(isOver)]);
    const leftover = await this.audit();
    const { ledger, site, version } = device;
    const lost = ledger.lost((user, id) => site.receivedAt(user, id));
    return { options, version, device, ledger, samples: this.samples, openings: this.openings, lost, leftover };
  }

  private day(): number {
    return this.device.clock.day() - this.begunDay;
  }

  /** Fills a resident's table, so that any later growth is a leak. */
  private async fillTable(user: string): Promise<void> {
    const [slot] = this.device.slots as [Slot];
    await slot.load();
    await slot.open(user);
    for (let first = 0; first < REMEMBER; first += FILL_BATCH) {
      await slot.perform(
        "fill",
        Array.from({ length: FILL_BATCH }, (_, index) => `earlier-${String(first + index)}`),
      );
      // So that the server covers them: a device stores at most 5,000 pending ids.
      await slot.perform("refresh", false);
    }
    await slot.perform("leave");
    slot.visit = undefined;
  }

  /** Takes samples, checks pages, and prints the progress. */
  private async watch(isOver: () => boolean): Promise<void> {
    const { device, options } = this;
    for (let next = 0; !isOver(); next += 1 / SAMPLES_A_DAY) {
      while (this.day() < next && !isOver()) await pause(50);
      await this.sample().catch((error: unknown) => device.failed(error));
      device.ledger.checkPages();
      this.sayFindings();
      if (Number.isInteger(next) && next % DAYS_A_MINUTE === 0) options.print(this.progress(next));
    }
  }

  /** Prints the findings since the last call. */
  private sayFindings(): void {
    const { ledger, unexpected } = this.device;
    for (const finding of [...ledger.repeats, ...unexpected]) {
      if (!this.printed.has(finding)) this.options.print(`${this.options.driver.name}: ${finding}`);
      this.printed.add(finding);
    }
  }

  private progress(day: number): string {
    const { ledger, kills, unexpected } = this.device;
    const found = ledger.repeats.length + unexpected.length;
    const counts = `${String(ledger.shown)} shown, ${String(ledger.recorded)} recorded`;
    const killed = `${String(kills.tabs)} tabs and ${String(kills.browsers)} browsers killed`;
    const { objects = 0, listeners = 0, wasm = 0, keys = 0, characters = 0 } = this.samples.at(-1) ?? {};
    const inKb = (bytes: number) => `${String(Math.round(bytes / 1024))} KB`;
    const memory = `${String(objects)} objects, ${String(listeners)} listeners, Wasm ${inKb(wasm)}`;
    const sizes = `${memory}, ${String(keys)} keys of ${inKb(characters)}`;
    return `${this.options.driver.name}, day ${String(day)}: ${counts}, ${killed}, ${sizes}, ${String(found)} findings`;
  }

  private async sample(): Promise<void> {
    const [slot] = this.device.slots as [Slot];
    if (!slot.visit) return;
    const { heap, objects, nodes, listeners } = await slot.with((tab) => tab.sample());
    const measured = await slot.perform("measure");
    if (!measured) return;
    const { wasm, characters, usage } = measured;
    const keys = measured.keys.filter((key) => isResident(namespaceOf(key))).length;
    const resident = this.device.residentBytes();
    const day = this.day();
    this.samples.push({ day, heap, objects, nodes, listeners, wasm, keys, characters, usage, resident });
  }

  /**
   * The final audit: all tabs deliver, the browser is killed again, and new documents have to stop all recorded ids and
   * deliver the rest. Returns idle namespaces that are still stored.
   */
  private async audit(): Promise<string[]> {
    const { device } = this;
    await device.goOnline();
    if (device.isFull) await device.freeStorage().catch((error: unknown) => device.failed(error));
    const open = device.slots.filter(({ visit }) => visit !== undefined);
    for (const slot of open) await slot.perform("deliver");
    const users = new Set([...RESIDENTS, VISITOR, ...device.slots.map(({ user }) => user).filter(isGuest)]);
    await device.killBrowser();
    const [slot] = device.slots as [Slot];
    let keys: readonly string[] = [];
    for (const user of users) {
      await slot.load();
      await slot.open(user);
      await this.showEverything(slot);
      for (let attempts = 0; attempts < 5 && (await slot.perform("deliver")).left > 0; attempts++) await pause(1000);
      keys = (await slot.perform("measure"))?.keys ?? [];
      await slot.perform("leave");
    }
    device.ledger.checkPages(true);
    const idle = (user: string) => device.clock.day() - (this.lastUse.get(user) ?? 0) > REMOVED_AFTER_DAYS;
    const stored = new Set(keys.map(namespaceOf));
    return [...stored].filter((user) => isGuest(user) && idle(user));
  }

  private async showEverything(slot: Slot): Promise<void> {
    const { ledger } = this.device;
    const startedReal = performance.now();
    const shown = await slot.perform("passing", ledger.idsOf(slot.user));
    if (slot.visit) ledger.show(slot.visit, shown, startedReal);
  }
}

const namespaceOf = (key: string): string => key.split("/")[1] ?? "";
