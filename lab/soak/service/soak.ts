/** The soak of the service in Rust: readers, faults, and an audit of everything that was acknowledged. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { buildService } from "../../../scripts/lib/service.mjs";
import { randomOf, shuffled, type Random } from "../../../www/server/random.ts";
import { lostIds } from "../audit.ts";
import { seconds, type Point } from "../figures.ts";
import { Load, newTimes, userOf } from "../readers.ts";
import { Deployment, PARTS, type Part } from "./deployment.ts";
import { appointments, strikeAll, type Fault, type Strike } from "./faults.ts";
import { kafka, redisCluster, singleRedis } from "./places.ts";
import { ServiceSite } from "./site.ts";
import type { Poison } from "./streams.ts";

export interface ServiceOptions {
  /** As many over each place. */
  readonly users: number;
  readonly minutes: number;
  readonly seed: number;
  /** How the service is compiled. */
  readonly profile: "debug" | "release";
  readonly say: (line: string) => void;
}

/** Of one place. */
export interface ServiceOutcome {
  readonly place: string;
  readonly load: Load<Parameters<ServiceSite["itemsOf"]>[0]>;
  readonly site: ServiceSite;
  readonly strikes: readonly Strike[];
  /** Resident bytes in the second half, in which no part is killed; `at` is the share of the run that was over. */
  readonly memory: ReadonlyMap<Part, readonly Point[]>;
  readonly lost: readonly string[];
  /** What a master acknowledged just after it woke, and lost. */
  readonly lostByWoken: readonly string[];
  /** Records that no chain takes, and what was set aside. */
  readonly poison?: { readonly sent: readonly string[]; readonly deadLetters: readonly string[] };
}

/** Pages are counted with a fault for so long after it. */
const AFTERMATH_MS = 5_000;
/** Number of faults that are drawn: five in two minutes, and all in twenty. */
const FAULTS_A_MINUTE = 2.5;
const SAMPLES = 80;
const POISON_EACH_MS = 60_000;
/** From this share of the run on no fault begins. */
export const QUIET_FROM = 0.7;

export async function soakService({ users, minutes, seed, profile, say }: ServiceOptions): Promise<ServiceOutcome[]> {
  // Each of the servers and programs is ended with this process by a listener of its own.
  process.setMaxListeners(50);
  say(`seed ${String(seed)}: --seed ${String(seed)} has the same faults strike at the same times`);
  const program = await buildService(profile);
  const directory = await mkdtemp(join(tmpdir(), "seenguard-soak-"));
  const places = [singleRedis, redisCluster, kafka];
  const count = Math.floor(users / places.length);
  const runs = await Promise.allSettled(
    places.map(async (open, index) => {
      const readers = { first: index * count, count };
      const random = randomOf(seed + index);
      const anyKey = () => `seen:{${userOf(readers.first + Math.floor(random() * count))}}`;
      const place = await open(directory, { anyKey, programs: PARTS });
      const deployment = await Deployment.start(program, place);
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
  const {
    name,
    stream: { poison },
  } = deployment.place;
  const durationMs = minutes * 60_000;
  const site = new ServiceSite(deployment);
  const load = new Load(site, readers.count, seed, readers.first);
  const strikes: Strike[] = [];
  let aftermath: NodeJS.Timeout | undefined;
  const strike = async (fault: Fault): Promise<void> => {
    clearTimeout(aftermath);
    const [during, after] = [newTimes(), newTimes()];
    load.pages = during;
    const begun = performance.now();
    await fault.strike(load);
    await deployment.isReady();
    const ms = performance.now() - begun;
    say(`over ${name}, ${seconds(ms)}: ${fault.name}`);
    strikes.push({ name: fault.name, ms, during, after });
    load.pages = after;
    aftermath = setTimeout(() => (load.pages = load.calm), AFTERMATH_MS);
  };
  const memory = new Map<Part, Point[]>();
  await Promise.all([
    load.run(durationMs),
    strikeAll(faultsOf(deployment, durationMs, random), strike),
    sample(deployment, memory, durationMs),
    ...(poison === undefined ? [] : [sendNowAndThen(poison, durationMs)]),
  ]);
  say(`over ${name} the load has ended: waiting for the stream`);
  await deployment.isDrained();
  const missing = await lostIds(load.acknowledged(), (user) => deployment.snapshotOf(user));
  const lost = missing.filter((id) => !load.unsure.has(id));
  const lostByWoken = missing.filter((id) => load.unsure.has(id));
  const setAside = poison && { sent: poison.sent, deadLetters: await poison.deadLetters() };
  return { place: name, load, site, strikes, memory, lost, lostByWoken, ...(setAside && { poison: setAside }) };
}

async function sendNowAndThen(poison: Poison, durationMs: number): Promise<void> {
  const begun = performance.now();
  for (let atMs = POISON_EACH_MS / 2; atMs < durationMs; atMs += POISON_EACH_MS) {
    await pause(Math.max(0, begun + atMs - performance.now()));
    await poison.send();
  }
}

/** The programs are killed in the first half, for in the second their memory is checked; at last nothing goes wrong. */
function faultsOf(deployment: Deployment, durationMs: number, random: Random) {
  const kills = deployment.kills();
  const all = shuffled([...kills, ...deployment.faults(), ...deployment.place.faults], random);
  const drawn = all.slice(0, Math.ceil((FAULTS_A_MINUTE * durationMs) / 60_000));
  const until = (share: number, faults: readonly Fault[]) =>
    appointments(faults, 0.1 * durationMs, share * durationMs, random);
  return [
    ...until(
      0.4,
      drawn.filter((fault) => kills.includes(fault)),
    ),
    ...until(
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
