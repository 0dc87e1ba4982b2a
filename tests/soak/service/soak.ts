/** The soak of the service in Rust: readers, faults, and an audit of everything that was acknowledged. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { buildService } from "../../../scripts/lib/service.mjs";
import { randomOf, type Random } from "../../../www/server/random.ts";
import { lostIds } from "../audit.ts";
import { seconds } from "../format.ts";
import { Load, userOf } from "../readers.ts";
import type { Point } from "../trend.ts";
import { Deployment, PARTS, STREAM, type Part } from "./deployment.ts";
import { appointments, strikeAll, type Fault, type Strike } from "./faults.ts";
import { redisCluster, singleRedis } from "./places.ts";
import { ServiceSite } from "./site.ts";

export interface ServiceOptions {
  /** Half of them over each place. */
  readonly users: number;
  readonly minutes: number;
  readonly seed: number;
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
}

/** Requests count as disturbed for so long after a fault. */
const AFTERMATH_MS = 5_000;
/** Each fault strikes at least once, and once more with each of these. */
const MINUTES_EACH_ROUND = 4;
const SAMPLES = 80;
/** From this share of the run on no fault begins. */
export const QUIET_FROM = 0.7;

export async function soakService({ users, minutes, seed, say }: ServiceOptions): Promise<ServiceOutcome[]> {
  // Each of the servers and programs is ended with this process by a listener of its own.
  process.setMaxListeners(50);
  say(`seed ${String(seed)}: --seed ${String(seed)} has the same faults strike at the same times`);
  const program = await buildService();
  const directory = await mkdtemp(join(tmpdir(), "seenguard-soak-"));
  const half = Math.floor(users / 2);
  const runs = await Promise.allSettled(
    [singleRedis, redisCluster].map(async (open, index) => {
      const readers = { first: index * half, count: half };
      const random = randomOf(seed + index);
      const anyKey = () => `seen:{${userOf(readers.first + Math.floor(random() * half))}}`;
      const place = await open(directory, { anyKey, stream: STREAM });
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
  { minutes, seed, say }: Omit<ServiceOptions, "users">,
  random: Random,
): Promise<ServiceOutcome> {
  const { name } = deployment.place;
  const durationMs = minutes * 60_000;
  const site = new ServiceSite(deployment);
  const load = new Load(site, readers.count, seed, readers.first);
  const strikes: Strike[] = [];
  let aftermath: NodeJS.Timeout | undefined;
  const strike = async (fault: Fault): Promise<void> => {
    clearTimeout(aftermath);
    load.isDisturbed = true;
    const begun = performance.now();
    await fault.strike();
    await deployment.isReady();
    const ms = performance.now() - begun;
    say(`over ${name}, ${seconds(ms)}: ${fault.name}`);
    strikes.push({ name: fault.name, ms });
    aftermath = setTimeout(() => (load.isDisturbed = false), AFTERMATH_MS);
  };
  const memory = new Map<Part, Point[]>();
  await Promise.all([
    load.run(durationMs),
    strikeAll(faultsOf(deployment, durationMs, random), strike),
    sample(deployment, memory, durationMs),
  ]);
  say(`over ${name} the load has ended: waiting for the stream`);
  await deployment.isDrained();
  const lost = await lostIds(load.acknowledged(), (user) => deployment.snapshotOf(user));
  return { place: name, load, site, strikes, memory, lost };
}

/** The programs are killed in the first half, for in the second their memory is judged; at last nothing goes wrong. */
function faultsOf(deployment: Deployment, durationMs: number, random: Random) {
  const rounds = Math.ceil(durationMs / (MINUTES_EACH_ROUND * 60_000));
  return Array.from({ length: rounds }, () => [
    ...appointments(deployment.place.faults, 0.1 * durationMs, QUIET_FROM * durationMs, random),
    ...appointments(deployment.faults(), 0.1 * durationMs, 0.4 * durationMs, random),
  ]).flat();
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
