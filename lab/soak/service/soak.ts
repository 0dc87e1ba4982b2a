/** The soak of the service in Rust: readers, faults, and an audit of everything that was acknowledged. */
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
  /** Over all topologies, as many over each. */
  readonly users: number;
  readonly minutes: number;
  readonly seed: number;
  /** How the service is compiled. */
  readonly profile: "debug" | "release";
  readonly say: (line: string) => void;
}

/** Of one topology. */
export interface ServiceOutcome {
  readonly topology: string;
  readonly load: Load<Parameters<ServiceSite["itemsOf"]>[0]>;
  readonly site: ServiceSite;
  readonly faults: readonly Injected[];
  /** Resident bytes in the second half, in which no part is killed; `at` is the share of the run that was over. */
  readonly memory: ReadonlyMap<Part, readonly Point[]>;
  readonly lost: readonly string[];
  /** What a master acknowledged just after it woke, and lost. */
  readonly lostByWoken: readonly string[];
  /** Records that no chain takes, and the dead letters. */
  readonly poison: { readonly sent: readonly string[]; readonly deadLetters: readonly string[] };
}

/** Pages are counted with a fault for so long after it. */
const AFTERMATH_MS = 5_000;
/** Number of faults that are drawn: in a minute one part is stopped, one slow, one cut and one killed; in 20 all are. */
const FAULTS_A_MINUTE = 4;
const SAMPLES = 80;
const POISON_EACH_MS = 60_000;
/** For one record of it to be in the stream, whatever fails at the time. */
const POISON_MS = 120_000;
/** From this share of the run on no fault begins. */
export const QUIET_FROM = 0.7;

export async function soakService({ users, minutes, seed, profile, say }: ServiceOptions): Promise<ServiceOutcome[]> {
  // Each of the servers and programs is ended with this process by a listener of its own.
  process.setMaxListeners(50);
  say(`seed ${String(seed)}: --seed ${String(seed)} injects the same faults at the same times`);
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
        return await soakOver(deployment, readers, { minutes, seed, say }, random);
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
  { minutes, seed, say }: Pick<ServiceOptions, "minutes" | "seed" | "say">,
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
    say(`over ${name}, ${seconds(ms)}: ${what}`);
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
  say(`over ${name} the load has ended: waiting for the stream`);
  await deployment.isDrained();
  const missing = await lostIds(load.acknowledged(), (user) => deployment.snapshotOf(user));
  const lost = missing.filter((id) => !load.unsure.has(id));
  const lostByWoken = missing.filter((id) => load.unsure.has(id));
  const deadLetters = await stream.deadLetters();
  return { topology: name, load, site, faults, memory, lost, lostByWoken, poison: { sent, deadLetters } };
}

/** Sends a record each minute that no chain takes. Returns them all. */
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

/** The programs are killed in the first half, for in the second their memory is checked; at last nothing goes wrong. */
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

/** The memory of all parts at equal distances in the second half. */
async function sample(deployment: Deployment, memory: Map<Part, Point[]>, durationMs: number): Promise<void> {
  await pause(durationMs / 2);
  for (let taken = 1; taken <= SAMPLES; taken++) {
    await pause(durationMs / 2 / SAMPLES);
    const at = 0.5 + taken / (2 * SAMPLES);
    for (const part of PARTS) memory.set(part, [...(memory.get(part) ?? []), { at, value: deployment.memoryOf(part) }]);
  }
}
