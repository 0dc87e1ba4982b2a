/** A slot of the browser: its current tab, with or without a guard. */
import { setTimeout as pause } from "node:timers/promises";
import type { App, Note, Opened } from "./app.ts";
import type { LongTask } from "./app-calls.ts";
import type { Tab } from "./driver.ts";
import type { Ledger, Visit } from "./ledger.ts";

/** The error of actions in a tab that was killed on purpose. */
export class Killed extends Error {}

/** The timeout of a call. */
const PATIENCE_MS = 90_000;

/** The slot's interface to its device. */
export interface Host {
  readonly ledger: Ledger;
  readonly windowDays: number;
  readonly longTasks: SlowTask[];
  readonly isRestarting: boolean;
  readonly isOffline: boolean;
  newTab(): Promise<Tab>;
  /** Called with a page's errors. */
  noteErrors(slot: Slot, errors: readonly string[]): void;
}

/** Methods of the app that return a note. */
export type Noted = {
  [K in keyof App]: App[K] extends (...args: never[]) => Promise<Note<unknown>> ? K : never;
}[keyof App];
export type ResultOf<K extends Noted> = Awaited<ReturnType<App[K]>> extends Note<infer T> ? T : never;

export class Slot {
  tab: Tab | undefined;
  visit: Visit | undefined;
  user = "";
  /** The factor by which its processor is throttled. */
  slowdown = 1;
  /** Whether a document is loading. */
  isLoading = false;
  /** The lifetime of the tab, from its request until it is killed or closed. */
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

  /** Calls a method of the page's app, and adds its note to the ledger. */
  async perform<K extends Noted>(name: K, ...args: Parameters<App[K]>): Promise<ResultOf<K>> {
    const { tab, visit } = this;
    if (!tab || !visit) throw new Killed();
    const note = (await this.unlessKilled(tab.call(name, ...args))) as Note<ResultOf<K>>;
    this.device.ledger.note(visit, note);
    this.device.noteErrors(this, note.errors);
    this.device.longTasks.push(...note.longTasks.map((task): SlowTask => ({ ...task, slowdown: this.slowdown })));
    return note.result;
  }

  /** Runs work on the tab itself. */
  async with<T>(work: (tab: Tab) => Promise<T>): Promise<T> {
    if (!this.tab) throw new Killed();
    return this.unlessKilled(work(this.tab));
  }

  /** Ends the tab with `end`, which kills or closes it. */
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
    // When the answer arrives, the slot may have another tab.
    const { life } = this;
    try {
      return await Promise.race([answer, life.death, late]);
    } catch (error) {
      // The call may be rejected before the kill is noted.
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
    this.death.catch(() => undefined); // waiting calls get the rejection
  }

  end(): void {
    this.isOver = true;
    this.reject(new Killed());
  }
}

export interface SlowTask extends LongTask {
  readonly slowdown: number;
}
