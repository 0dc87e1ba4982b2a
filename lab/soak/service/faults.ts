/** Faults that are injected under load, and when, drawn from a seed. */
import { setTimeout as pause } from "node:timers/promises";
import type { Histogram } from "hdr-histogram-js";
import { shuffled, type Random } from "../../../www/server/random.ts";
import type { Load } from "../readers.ts";

/** What happens, whichever part it happens to: faults of one kind share a row of the table. */
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
  /** The part that it happens to. */
  readonly part: string;
  readonly kind: keyof typeof KINDS;
  /** Resolves when what it broke works again. Tells the load when what is acknowledged may be lost. */
  inject(load: Pick<Load<never>, "storeEvents">): Promise<unknown>;
}

/** A fault that was injected. */
export interface Injected {
  readonly kind: Fault["kind"];
  /** How long it took until everything worked and every program was ready. */
  readonly ms: number;
  /** Times of pages meanwhile, and just after. */
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

/** Some of the faults: those that come first in `KINDS` in any run, and each kind once before one comes twice. */
export function draw(faults: readonly Fault[], count: number, random: Random): Fault[] {
  const left = new Map<string, Fault[]>(Object.keys(KINDS).map((kind) => [kind, []]));
  for (const fault of shuffled(faults, random)) left.get(fault.kind)?.push(fault);
  const drawn: Fault[] = [];
  while (drawn.length < Math.min(count, faults.length))
    for (const ofKind of left.values()) drawn.push(...ofKind.splice(0, 1));
  return drawn.slice(0, count);
}

/** Each fault once, in their order, each at a random time of its part of the time between the two. */
export function appointments(faults: readonly Fault[], fromMs: number, toMs: number, random: Random): Appointment[] {
  const each = (toMs - fromMs) / faults.length;
  return faults.map((fault, index) => ({ atMs: fromMs + (index + random()) * each, fault }));
}

/** Injects the faults at their times; one that is due during another is injected right after it. */
export async function injectAll(all: readonly Appointment[], inject: (fault: Fault) => Promise<void>): Promise<void> {
  const begun = performance.now();
  for (const { atMs, fault } of [...all].sort((one, other) => one.atMs - other.atMs)) {
    await pause(Math.max(0, begun + atMs - performance.now()));
    await inject(fault);
  }
}
