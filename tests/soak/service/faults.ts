/** What goes wrong in the midst of a load, and when: a seed says. */
import { setTimeout as pause } from "node:timers/promises";
import { shuffled, type Random } from "../../../www/server/random.ts";

export interface Fault {
  readonly name: string;
  /** Resolves when what it broke is whole again. */
  strike(): Promise<unknown>;
}

/** How it went with one of them. */
export interface Strike {
  readonly name: string;
  /** How long it took until all was whole and every program ready. */
  readonly ms: number;
}

interface Appointment {
  readonly atMs: number;
  readonly fault: Fault;
}

/** Each fault once, in a random order, at random times between the two. */
export function appointments(faults: readonly Fault[], fromMs: number, toMs: number, random: Random): Appointment[] {
  return shuffled(faults, random).map((fault) => ({ atMs: fromMs + random() * (toMs - fromMs), fault }));
}

/** Has the faults strike at their times; one that is to strike during another does so at once after it. */
export async function strikeAll(all: readonly Appointment[], strike: (fault: Fault) => Promise<void>): Promise<void> {
  const begun = performance.now();
  for (const { atMs, fault } of [...all].sort((one, other) => one.atMs - other.atMs)) {
    await pause(Math.max(0, begun + atMs - performance.now()));
    await strike(fault);
  }
}
