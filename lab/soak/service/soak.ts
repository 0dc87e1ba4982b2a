/** The soak of the service in Rust: readers, faults, and an audit of all acknowledged ids. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { buildService } from "../../../scripts/lib/service.mjs";
import { until } from "../../../tests/support/processes.ts";
import { randomOf, type Random } from "../../../www/server/random.ts";
import { lostIds } from "../audit.ts";
import { seconds, type Point } from "../figures.ts";
import { Load, newTimes, userOf } from "../readers.ts";
import { Deployment, PARTS, type Part } from "./deployment.ts";
import { appointments, draw, injectAll, KINDS, type Fault, type Injected } from "./faults.ts";
import { ServiceSite } from "./site.ts";
import type { Stream } from "./streams.ts";
import { kafka, redisCluster, singleRedis } from "./topologies.ts";

export interface ServiceOptions {
  /** The number of users, divided equally between the topologies. */
  readonly users: number;
  readonly minutes: number;
  readonly seed: number;
  /** The profile with which the service is compiled. */
  readonly profile: "debug" | "release";
  readonly print: (line: string) => void;
}

/** The results of one topology. */
export interface ServiceOutcome {
  readonly topology: string;
  readonly load: Load<Parameters<ServiceSite["itemsOf"]>[0]>;
  readonly site: ServiceSite;
  readonly faults: readonly Injected[];
  /** Resident bytes in the second half, in which no part is killed; `at` is the elapsed share of the run. */
  readonly memory: ReadonlyMap<Part, readonly Point[]>;
  readonly lost: readonly string[];
  /** Ids that a former master acknowledged just after it was resumed, and lost. */
  readonly lostByWoken: readonly string[];
  /** Records that cannot be applied, and the dead letters. */
  readonly poison: { readonly sent: readonly string[]; readonly deadLetters: readonly string[] };
}

/** The time after a fault in which pages count as affected by it. */
const AFTERMATH_MS = 5_000;
/** The number of faults: each minute has one of each sort (suspended, slow, cut, killed), and 20 minutes have all. */
const FAULTS_A_MINUTE = 4;
const SAMPLES = 80;
const POISON_EACH_MS = 60_000;
/** The timeout of appending one record, whatever fails meanwhile. */
const POISON_MS = 120_000;
/** The share of the run from which on no fault starts. */
export const QUIET_FROM = 0.7;

export async function soakService({ users, minutes, seed, profile, print }: ServiceOptions): Promise<ServiceOutcome[]> {
  // Each server and program has a listener that ends it with this process.
  process.setMaxListeners(50);
  print(`seed ${String(seed)}: --seed ${String(seed)} injects the same faults at the same times`);
  const program = await buildService(profile);
  const directory = await mkdtemp(join(tmpdir(), "seenguard-soak-"));
  const topologies = [singleRedis, redisCluster, kafka];
  const count = Math.floor(users / topologies.length);
  const runs = await Promise.allSettled(
    topologies.map(async (open, index) => {
      const readers = { first: index * count, count };
      const random = randomOf(seed + index);
      const anyKey = () => `seen:{${userOf(readers.first + Math.floor(random() * count))}}`;
      const topology = await open(directory, { anyKey, programs: PARTS });
      const deployment = await Deployment.start(program, topology);
      try {
        return await soakOver(deployment, readers, { minutes, seed, print }, random);
      } finally {
        await deployment.stop();
      }
    }),
  );
  await rm(directory, { recursive: true, force: true });
  return runs.map((run) => {
    if (run.status === "rejected") throw run.reason;
    return run.value;
  });
}

async function soakOver(
  deployment: Deployment,
  readers: { readonly first: number; readonly count: number },
  { minutes, seed, print }: Pick<ServiceOptions, "minutes" | "seed" | "print">,
  random: Random,
): Promise<ServiceOutcome> {
  const { name, stream } = deployment.topology;
  const durationMs = minutes * 60_000;
  const site = new ServiceSite(deployment);
  const load = new Load(site, readers.count, seed, readers.first);
  const faults: Injected[] = [];
  let aftermath: NodeJS.Timeout | undefined;
  const inject = async (fault: Fault): Promise<void> => {
    clearTimeout(aftermath);
    const [during, after] = [newTimes(), newTimes()];
    load.pages = during;
    const begun = performance.now();
    const what = `${fault.part}: ${KINDS[fault.kind]}`;
    try {
      await fault.inject(load);
      await deployment.isReady();
    } catch (cause) {
      throw new Error(`over ${name}, after ${what}`, { cause });
    }
    const ms = performance.now() - begun;
    print(`over ${name}, ${seconds(ms)}: ${what}`);
    faults.push({ kind: fault.kind, ms, during, after });
    load.pages = after;
    aftermath = setTimeout(() => (load.pages = load.calm), AFTERMATH_MS);
  };
  const memory = new Map<Part, Point[]>();
  const [sent] = await Promise.all([
    poison(stream, durationMs),
    load.run(durationMs),
    injectAll(faultsOf(deployment, durationMs, random), inject),
    sample(deployment, memory, durationMs),
  ]);
  print(`over ${name} the load has ended: waiting for the stream`);
  await deployment.isDrained();
  const missing = await lostIds(load.acknowledged(), (user) => deployment.snapshotOf(user));
  const lost = missing.filter((id) => !load.unsure.has(id));
  const lostByWoken = missing.filter((id) => load.unsure.has(id));
  const deadLetters = await stream.deadLetters();
  return { topology: name, load, site, faults, memory, lost, lostByWoken, poison: { sent, deadLetters } };
}

/** Sends a record that cannot be applied each minute. Returns all of them. */
async function poison(stream: Stream, durationMs: number): Promise<string[]> {
  const begun = performance.now();
  const sent: string[] = [];
  for (let atMs = POISON_EACH_MS / 2; atMs < durationMs; atMs += POISON_EACH_MS) {
    await pause(Math.max(0, begun + atMs - performance.now()));
    const text = `poison ${String(sent.length)}`;
    const isSent = () =>
      stream.send(text).then(
        () => true,
        () => false,
      );
    await until(`${text} is in the stream`, isSent, POISON_MS);
    sent.push(text);
  }
  return sent;
}

/** The faults: programs are killed in the first half, since their memory is checked in the second; the end has none. */
function faultsOf(deployment: Deployment, durationMs: number, random: Random) {
  const kills = deployment.kills();
  const all = [...kills, ...deployment.faults(), ...deployment.topology.faults];
  const drawn = draw(all, Math.ceil((FAULTS_A_MINUTE * durationMs) / 60_000), random);
  const before = (share: number, faults: readonly Fault[]) =>
    appointments(faults, 0.1 * durationMs, share * durationMs, random);
  return [
    ...before(
      0.4,
      drawn.filter((fault) => kills.includes(fault)),
    ),
    ...before(
      QUIET_FROM,
      drawn.filter((fault) => !kills.includes(fault)),
    ),
  ];
}

/** Samples the memory of all parts at equal intervals in the second half. */
async function sample(deployment: Deployment, memory: Map<Part, Point[]>, durationMs: number): Promise<void> {
  await pause(durationMs / 2);
  for (let taken = 1; taken <= SAMPLES; taken++) {
    await pause(durationMs / 2 / SAMPLES);
    const at = 0.5 + taken / (2 * SAMPLES);
    for (const part of PARTS) memory.set(part, [...(memory.get(part) ?? []), { at, value: deployment.memoryOf(part) }]);
  }
}
