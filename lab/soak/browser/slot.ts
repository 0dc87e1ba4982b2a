/** A place for a tab: the tab that is in it now, with a guard or without, and what becomes of both. */
import { setTimeout as pause } from "node:timers/promises";
import type { App, Note, Opened } from "./app.ts";
import type { LongTask } from "./app-calls.ts";
import type { Tab } from "./driver.ts";
import type { Ledger, Visit } from "./ledger.ts";

/** The tab was killed on purpose. */
export class Killed extends Error {}

/** A call that is not answered by then never is. */
const PATIENCE_MS = 90_000;

/** The device that the slot is in. */
export interface Host {
  readonly ledger: Ledger;
  readonly windowDays: number;
  readonly longTasks: SlowTask[];
  readonly isRestarting: boolean;
  readonly isOffline: boolean;
  newTab(): Promise<Tab>;
  /** A page has said that something went wrong. */
  noteErrors(slot: Slot, errors: readonly string[]): void;
}

/** Methods of the app that answer with a note. */
export type Noted = {
  [K in keyof App]: App[K] extends (...args: never[]) => Promise<Note<unknown>> ? K : never;
}[keyof App];
export type ResultOf<K extends Noted> = Awaited<ReturnType<App[K]>> extends Note<infer T> ? T : never;

export class Slot {
  tab: Tab | undefined;
  visit: Visit | undefined;
  user = "";
  /** How much slower its processor is made. */
  slowdown = 1;
  /** A document is on its way. */
  isLoading = false;
  /** Of the tab: from when it is requested until it is killed or closed. */
  private life = new Life();

  constructor(
    private readonly device: Host,
    readonly number: number,
  ) {}

  /** Opens a new document, in a new tab if there is none. */
  async load(): Promise<void> {
    while (this.device.isOffline) await pause(20);
    this.isLoading = true;
    try {
      await (this.tab ? this.unlessKilled(this.tab.reload()) : this.loadNew());
    } finally {
      this.isLoading = false;
    }
  }

  private async loadNew(): Promise<void> {
    this.life = new Life();
    this.tab = await this.unlessKilled(this.device.newTab());
    await this.with((tab) => tab.slowDown(this.slowdown));
  }

  /** Opens a guard of the user in the document. */
  async open(user: string): Promise<Opened> {
    this.user = user;
    const { ledger, windowDays } = this.device;
    if (this.visit) ledger.end(this.visit);
    this.visit = ledger.open(user);
    return this.perform("open", { user, windowDays });
  }

  /** Calls a method of the page's app, and enters into the ledger what it noted. */
  async perform<K extends Noted>(name: K, ...args: Parameters<App[K]>): Promise<ResultOf<K>> {
    const { tab, visit } = this;
    if (!tab || !visit) throw new Killed();
    const note = (await this.unlessKilled(tab.call(name, ...args))) as Note<ResultOf<K>>;
    this.device.ledger.note(visit, note);
    this.device.noteErrors(this, note.errors);
    this.device.longTasks.push(...note.longTasks.map((task): SlowTask => ({ ...task, slowdown: this.slowdown })));
    return note.result;
  }

  /** Does something with the tab itself. */
  async with<T>(work: (tab: Tab) => Promise<T>): Promise<T> {
    if (!this.tab) throw new Killed();
    return this.unlessKilled(work(this.tab));
  }

  /** The tab is gone, killed by `end` or closed. */
  async end(end: (tab: Tab) => Promise<void>): Promise<void> {
    const { tab, visit } = this;
    if (visit) this.device.ledger.end(visit);
    this.tab = this.visit = undefined;
    this.life.end();
    if (tab) await end(tab);
  }

  private async unlessKilled<T>(answer: Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`tab ${String(this.number)} does not answer`)), PATIENCE_MS);
    });
    // By the time that the answer comes another tab may be in this place.
    const { life } = this;
    try {
      return await Promise.race([answer, life.death, late]);
    } catch (error) {
      // Its own rejection may come before the word that it was killed.
      if (this.device.isRestarting || life.isOver) throw new Killed();
      throw error;
    } finally {
      clearTimeout(timer);
    }
  }
}

class Life {
  isOver = false;
  readonly death: Promise<never>;
  private reject: (reason: Error) => void = () => {};

  constructor() {
    this.death = new Promise((_, reject) => (this.reject = reject));
    this.death.catch(() => undefined); // whoever waits for something is notified
  }

  end(): void {
    this.isOver = true;
    this.reject(new Killed());
  }
}

export interface SlowTask extends LongTask {
  readonly slowdown: number;
}
