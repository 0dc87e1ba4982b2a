/** Actions of users in the tabs, drawn from a seed. */
import { setTimeout as pause } from "node:timers/promises";
import type { Random } from "../../../www/server/random.ts";
import type { Opened, Shown } from "./app.ts";
import type { Device } from "./device.ts";
import type { Slot } from "./slot.ts";

/** The users who share the device and stay signed in. */
export const RESIDENTS = ["ada", "ben"] as const;
/** A user who signs out half of the time. Guests come once. */
export const VISITOR = "cleo";
const PAUSE_MS = [100, 500] as const;
const MOST_LOOKED_AT = 6;
const WITH_PENDING = 0.3;
const SLOWDOWN = 4;

/** The opening of a resident's guard, whose table is full. */
export interface Opening extends Opened {
  readonly day: number;
  readonly slowdown: number;
}

/** The actions with their shares. */
const HABITS = {
  refresh: 0.42,
  look: 0.33,
  scroll: 0.09,
  again: 0.06,
  unsee: 0.03,
  comeBack: 0.05,
  switchUser: 0.02,
};
const SIGNS_OUT = 0.5;
const IS_GUEST = 0.25;

export class Person {
  private displayed: readonly string[] = [];

  /** @param lastUse the time of each user's last visit, in days */
  constructor(
    private readonly slot: Slot,
    private readonly device: Device,
    private readonly random: Random,
    private readonly openings: Opening[],
    private readonly lastUse: Map<string, number>,
  ) {}

  /** Whether the tab stays open as long as the browser runs: the first one, which is measured. */
  private get stays(): boolean {
    return this.slot.number === 0;
  }

  async live(isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      try {
        if (this.slot.visit) await this.act();
        else if (!this.device.isOffline && !this.device.isRestarting)
          await this.arrive(this.slot.user || this.someone());
      } catch (error) {
        this.device.failed(error);
      }
      await pause(PAUSE_MS[0] + this.random() * (PAUSE_MS[1] - PAUSE_MS[0]));
    }
  }

  private async arrive(user: string): Promise<void> {
    const { slot, device } = this;
    // The second tab has a slow processor half of the time.
    if (slot.number === 1) slot.slowdown = this.random() < 0.5 ? SLOWDOWN : 1;
    await slot.load();
    await slot.with((tab) => tab.slowDown(slot.slowdown));
    const opened = await slot.open(user);
    this.use();
    this.displayed = [];
    if (isResident(user)) this.openings.push({ ...opened, day: device.clock.day(), slowdown: slot.slowdown });
  }

  private async act(): Promise<void> {
    this.use();
    switch (this.drawHabit()) {
      case "refresh":
        return this.refresh();
      case "look":
        await this.slot.perform("look", 1 + Math.floor(this.random() * MOST_LOOKED_AT));
        return;
      case "scroll":
        await this.slot.perform("scroll");
        return;
      case "again":
        return this.show(() => this.slot.perform("again"));
      case "unsee":
        return this.unsee();
      case "comeBack":
        return this.comeBack();
      case "switchUser":
        return this.switchUser();
    }
  }

  private async refresh(): Promise<void> {
    await this.show(() => this.slot.perform("refresh", this.random() < WITH_PENDING));
  }

  private async show(answer: () => Promise<Shown>): Promise<void> {
    const { visit } = this.slot;
    const startedReal = performance.now();
    const shown = await answer();
    if (visit) this.device.ledger.show(visit, shown, startedReal);
    this.displayed = shown.ids;
  }

  private async unsee(): Promise<void> {
    const { slot, device } = this;
    const [id] = this.displayed;
    if (id === undefined || !slot.visit) return;
    const announced = device.ledger.noteUnseen(slot.visit, id);
    await slot.perform("unsee", id);
    device.ledger.withdraw(announced);
  }

  /** Closes and reopens the tab, or reloads its page. */
  private async comeBack(): Promise<void> {
    if (this.stays || this.device.isOffline) return;
    if (this.random() < 0.5) await this.slot.end((tab) => tab.close());
    await this.arrive(this.slot.user);
  }

  /** Switches the tab to another user, in the same document or a new one. */
  private async switchUser(): Promise<void> {
    const { slot, device } = this;
    if (this.stays || device.isOffline) return;
    if (slot.user === VISITOR && this.random() < SIGNS_OUT) await this.signOut();
    else if (isGuest(slot.user)) await this.leaveForGood();
    else await slot.perform("leave");
    slot.visit = undefined;
    const next = this.someone();
    if (this.random() < 0.5) return this.arrive(next);
    await slot.open(next);
    this.use();
    this.displayed = [];
  }

  private async signOut(): Promise<void> {
    const { ledger } = this.device;
    const { user } = this.slot;
    ledger.clears(user);
    try {
      await this.slot.perform("signOut");
    } finally {
      ledger.clears(user);
    }
  }

  /** Ends a guest's visit. Guests do not return to deliver the rest. */
  private async leaveForGood(): Promise<void> {
    await this.slot.perform("stopReading");
    for (let left = 1; left > 0;) left = (await this.slot.perform("deliver")).left;
    await this.slot.perform("leave");
  }

  private someone(): string {
    if (this.stays) return RESIDENTS[0];
    const drawn = this.random();
    // Guests use only the last tab.
    if (this.slot.number === 3 && drawn < IS_GUEST) return `guest-${String(Math.floor(this.random() * 1e9))}`;
    if (drawn > 0.8) return VISITOR;
    return RESIDENTS[drawn < 0.55 ? 0 : 1];
  }

  private use(): void {
    this.lastUse.set(this.slot.user, this.device.clock.day());
  }

  private drawHabit(): keyof typeof HABITS {
    let left = this.random();
    for (const [habit, share] of Object.entries(HABITS)) if ((left -= share) < 0) return habit as keyof typeof HABITS;
    return "refresh";
  }
}

export const isGuest = (user: string): boolean => user.startsWith("guest-");

export function isResident(user: string): boolean {
  return (RESIDENTS as readonly string[]).includes(user);
}
