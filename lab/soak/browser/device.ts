/**
 * A shared device: a browser with four tabs over one profile, which may be killed, go offline or run out of storage.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { VirtualClock } from "./clock.ts";
import type { DrivenBrowser, Driver, Tab } from "./driver.ts";
import type { Ledger } from "./ledger.ts";
import type { Site } from "./site.ts";
import { Killed, Slot, type Host, type SlowTask } from "./slot.ts";

const TABS = 4;
/** The free storage: soon used up. */
const ROOM_BYTES = 1 << 18;
/** More bytes than any browser here allows the origin. */
const FILLING_BYTES = 1 << 26;
const START_ATTEMPTS = 3;

/** The expected errors of a page, which are counted; others are findings. */
const EXPECTED = {
  /** The network is down at times. */
  delivery: /^delivery: /,
  /** The storage is full at times. */
  "storage full": /^storage: the storage is full/,
  /** The machine is overloaded. */
  "slow storage": /^storage: the storage does not answer/,
};

export class Device implements Host {
  readonly slots: readonly Slot[];
  readonly longTasks: SlowTask[] = [];
  readonly expected = new Map<string, number>();
  readonly unexpected: string[] = [];
  isOffline = false;
  isFull = false;
  isRestarting = false;
  readonly kills = { tabs: 0, browsers: 0 };
  outages = 0;
  fillings = 0;

  private constructor(
    private readonly driver: Driver,
    private readonly profile: string,
    private browser: DrivenBrowser,
    readonly site: Site,
    readonly ledger: Ledger,
    readonly clock: VirtualClock,
    readonly windowDays: number,
  ) {
    this.slots = Array.from({ length: TABS }, (_, number) => new Slot(this, number));
  }

  static async start(
    driver: Driver,
    site: Site,
    ledger: Ledger,
    clock: VirtualClock,
    windowDays: number,
  ): Promise<Device> {
    const profile = await mkdtemp(join(tmpdir(), `seenguard-soak-${driver.name}-`));
    return new Device(driver, profile, await restart(driver, profile), site, ledger, clock, windowDays);
  }

  get version(): string {
    return this.browser.version;
  }

  residentBytes(): number {
    return this.browser.residentBytes();
  }

  newTab(): Promise<Tab> {
    return this.browser.newTab(this.site.origin);
  }

  /** Counts a page's expected errors, and adds the others to the findings. */
  noteErrors(slot: Slot, errors: readonly string[]): void {
    for (const error of errors) {
      const kind = Object.entries(EXPECTED).find(([, pattern]) => pattern.test(error))?.[0];
      if (kind === undefined) this.unexpected.push(`tab ${String(slot.number)}, ${slot.user}: ${error}`);
      else this.expected.set(kind, (this.expected.get(kind) ?? 0) + 1);
      if (kind === "slow storage" && slot.visit) this.ledger.foundNothing(slot.visit);
    }
  }

  /** Handles a failed action: expected while tabs and browsers are killed, a finding otherwise. */
  failed(error: unknown): void {
    if (!(error instanceof Killed) && !this.isRestarting) this.unexpected.push(String(error));
  }

  async killTab(slot: Slot): Promise<void> {
    if (!slot.tab) return;
    this.kills.tabs++;
    await slot.end((tab) => tab.kill());
  }

  /** Kills the browser's main process, and restarts it over the same profile. */
  async killBrowser(): Promise<void> {
    if (this.isRestarting) return;
    this.kills.browsers++;
    this.isRestarting = true;
    await this.browser.kill();
    await Promise.all(this.slots.map((slot) => slot.end(() => Promise.resolve())));
    this.browser = await restart(this.driver, this.profile);
    this.isRestarting = false;
  }

  /** Makes the network fail for this time: requests fail, and pages are notified. */
  async outage(realMs: number): Promise<void> {
    if (this.isOffline) return;
    this.outages++;
    this.isOffline = true;
    // The app cannot be loaded offline.
    while (this.slots.some(({ isLoading }) => isLoading)) await pause(20);
    this.site.isDown = true;
    await this.browser.setOffline(true).catch(() => undefined); // the browser may have been killed
    await pause(realMs);
    await this.goOnline();
  }

  async goOnline(): Promise<void> {
    this.site.isDown = false;
    await this.browser.setOffline(false).catch(() => undefined);
    // Last, since pages are loaded from now on.
    this.isOffline = false;
  }

  /** Fills the origin's storage for this time. */
  async fillStorage(realMs: number): Promise<void> {
    const [first] = this.slots as [Slot];
    this.isFull = true;
    try {
      await first.with((tab) => tab.limitStorage(ROOM_BYTES));
      await first.with((tab) => tab.call("fillStorage", FILLING_BYTES));
      this.fillings++;
      await pause(realMs);
    } finally {
      await this.freeStorage();
    }
  }

  async freeStorage(): Promise<void> {
    const [first] = this.slots as [Slot];
    await first.with((tab) => tab.limitStorage(undefined));
    await first.with((tab) => tab.call("freeStorage"));
    this.isFull = false;
  }

  async stop(): Promise<void> {
    this.isRestarting = true;
    await this.browser.kill();
    await rm(this.profile, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  }
}

/** Restarts a browser. A killed one may need another attempt. */
async function restart(driver: Driver, profile: string, attempts = START_ATTEMPTS): Promise<DrivenBrowser> {
  try {
    return await driver.start(profile);
  } catch (error) {
    if (attempts === 1) throw error;
    return restart(driver, profile, attempts - 1);
  }
}
