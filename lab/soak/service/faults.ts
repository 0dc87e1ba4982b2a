/** Faults under load, and their times, drawn from a seed. */
import { setTimeout as pause } from "node:timers/promises";
import type { Histogram } from "hdr-histogram-js";
import { shuffled, type Random } from "../../../www/server/random.ts";
import type { Load } from "../readers.ts";

/** The kinds of faults: those of one kind share a row of the table, whichever part they affect. */
export const KINDS = {
  stopped: "stopped for 15 s",
  slow: "a link slow, 2 MB a second",
  closed: "a link closed",
  killed: "killed and started again",
  silent: "a link silent, but for new connections",
  full: "Redis full",
  failover: "killed, and its replica takes over",
  stoppedMaster: "stopped for 15 s, and its replica takes over",
  requested: "failover on demand",
  slot: "slot moved",
} as const;

export interface Fault {
  /** The affected part. */
  readonly part: string;
  readonly kind: keyof typeof KINDS;
  /**
   * Injects the fault. Resolves when the part works again. Notifies the load while acknowledged reports may be lost.
   */
  inject(load: Pick<Load<never>, "storeEvents">): Promise<unknown>;
}

/** A fault that was injected. */
export interface Injected {
  readonly kind: Fault["kind"];
  /** The time until everything worked and every program was ready. */
  readonly ms: number;
  /** The times of pages during the fault, and just after. */
  readonly during: Histogram;
  readonly after: Histogram;
}

interface Appointment {
  readonly atMs: number;
  readonly fault: Fault;
}

/** The time for which a process is suspended, with its connections open. */
const STOPPED_MS = 15_000;

export async function stopAndWake(process: { hang(): unknown; wake(): unknown }): Promise<void> {
  process.hang();
  await pause(STOPPED_MS);
  process.wake();
}

/** Draws some of the faults: the first kinds of `KINDS` in any run, and each kind once before one is repeated. */
export function draw(faults: readonly Fault[], count: number, random: Random): Fault[] {
  const left = new Map<string, Fault[]>(Object.keys(KINDS).map((kind) => [kind, []]));
  for (const fault of shuffled(faults, random)) left.get(fault.kind)?.push(fault);
  const drawn: Fault[] = [];
  while (drawn.length < Math.min(count, faults.length))
    for (const ofKind of left.values()) drawn.push(...ofKind.splice(0, 1));
  return drawn.slice(0, count);
}

/** Gives each fault, in their order, a random time in its equal part of the period. */
export function appointments(faults: readonly Fault[], fromMs: number, toMs: number, random: Random): Appointment[] {
  const each = (toMs - fromMs) / faults.length;
  return faults.map((fault, index) => ({ atMs: fromMs + (index + random()) * each, fault }));
}

/** Injects the faults at their times, one at a time: a fault that is due during another follows it at once. */
export async function injectAll(all: readonly Appointment[], inject: (fault: Fault) => Promise<void>): Promise<void> {
  const begun = performance.now();
  for (const { atMs, fault } of [...all].sort((one, other) => one.atMs - other.atMs)) {
    await pause(Math.max(0, begun + atMs - performance.now()));
    await inject(fault);
  }
}
