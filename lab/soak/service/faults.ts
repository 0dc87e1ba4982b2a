/** Faults under load and their times, drawn from a seed. */
import { setTimeout as pause } from "node:timers/promises";
import type { Histogram } from "hdr-histogram-js";
import type { Random } from "../../../www/server/random.ts";
import type { Load } from "../readers.ts";

export interface Fault {
  readonly name: string;
  /** Resolves when what it broke is whole again. Tells the load when what is acknowledged may be lost. */
  strike(load: Pick<Load<never>, "storeEvents">): Promise<unknown>;
}

/** How it went with one of them. */
export interface Strike {
  readonly name: string;
  /** How long it took until all was whole and every program ready. */
  readonly ms: number;
  /** Of pages meanwhile, and just after. */
  readonly during: Histogram;
  readonly after: Histogram;
}

interface Appointment {
  readonly atMs: number;
  readonly fault: Fault;
}

/** For so long a process does nothing, and ends no connection. */
const STOPPED_MS = 15_000;

export async function stopAndWake(process: { hang(): unknown; wake(): unknown }): Promise<void> {
  process.hang();
  await pause(STOPPED_MS);
  process.wake();
}

/** Each fault once, in their order, each at a random time of its part of the time between the two. */
export function appointments(faults: readonly Fault[], fromMs: number, toMs: number, random: Random): Appointment[] {
  const each = (toMs - fromMs) / faults.length;
  return faults.map((fault, index) => ({ atMs: fromMs + (index + random()) * each, fault }));
}

/** Has the faults strike at their times; one that is to strike during another does so at once after it. */
export async function strikeAll(all: readonly Appointment[], strike: (fault: Fault) => Promise<void>): Promise<void> {
  const begun = performance.now();
  for (const { atMs, fault } of [...all].sort((one, other) => one.atMs - other.atMs)) {
    await pause(Math.max(0, begun + atMs - performance.now()));
    await strike(fault);
  }
}
