/** The soak of the demo's server: readers, kills, and an audit of everything that was acknowledged. */
import { setTimeout as pause } from "node:timers/promises";
import { redisStore } from "seenguard/server";
import { CHAIN_OPTIONS } from "../../../www/server/chain.ts";
import { controlKey } from "../../../www/server/redis/layout.ts";
import { lostIds } from "../audit.ts";
import { Load, newTimes, userOf } from "../readers.ts";
import { Deployment, PARTS, type Memory, type Part } from "./deployment.ts";
import { compareFsync, type PolicyCost } from "./fsync.ts";
import { DemoSite } from "./site.ts";
import { snapshotOf, streamIsDrained } from "./stream.ts";

export interface ServerOptions {
  readonly users: number;
  readonly minutes: number;
  /** How often each part is killed. */
  readonly kills: number;
  readonly seed: number;
  readonly say: (line: string) => void;
}

export interface ServerOutcome {
  readonly options: ServerOptions;
  readonly load: DemoLoad;
  /** Of pages while a part was down or had just been started again. */
  readonly disturbed: DemoLoad["calm"];
  /** Items that pages left out because the other device had shown them. */
  readonly leftOut: number;
  readonly kills: ReadonlyMap<Part, number>;
  /** How long each part took to be ready again, in milliseconds. */
  readonly restarts: ReadonlyMap<Part, readonly number[]>;
  /** Over time, at equal distances. */
  readonly memory: readonly Memory[];
  readonly acknowledged: number;
  readonly lost: readonly string[];
  readonly fsync: readonly PolicyCost[];
}

type DemoLoad = Load<Parameters<DemoSite["itemsOf"]>[0]>;

/** The stream's lag in seconds: the demo's minute would only lengthen the audit's wait. */
const LAG_SECONDS = 10;
/** Requests count as disturbed for so long after a part is ready again. */
const AFTERMATH_MS = 5_000;
const SAMPLES = 40;
/** Of the run's time, for the comparison of the policies after it. */
const FSYNC_SHARE = 0.1;

export async function soakServer(options: ServerOptions): Promise<ServerOutcome> {
  const { users, minutes, seed, say } = options;
  const durationMs = minutes * 60_000;
  const deployment = await Deployment.start();
  try {
    await fillChains(deployment, users);
    say(`${String(users)} users, each with a full chain; ${String(minutes)} minutes of load begin`);
    const site = new DemoSite(deployment.url);
    const load = new Load(site, users, seed);
    const chaos = new Chaos(deployment, load, say);
    const memory: Memory[] = [];
    const sampling = sample(deployment, memory, durationMs);
    await Promise.all([load.run(durationMs), chaos.run(options.kills, durationMs), sampling]);
    say("the load is over: waiting for the stream");
    await streamIsDrained(deployment);
    const acknowledged = load.acknowledged();
    const lost = await lostIds(acknowledged, (user) => snapshotOf(deployment.url, user));
    say("comparing appendfsync everysec and always");
    const fsync = await compareFsync(deployment, users, durationMs * FSYNC_SHARE);
    const count = [...acknowledged.values()].reduce((sum, ids) => sum + ids.size, 0);
    const { leftOut } = site;
    const { disturbed, kills, restarts } = chaos;
    return { options, load, disturbed, leftOut, kills, restarts, memory, acknowledged: count, lost, fsync };
  } finally {
    await deployment.stop();
  }
}

/** Gives everybody a full chain of other ids, so that pages cost what they cost a regular reader. */
async function fillChains({ redis: { client } }: Deployment, users: number): Promise<void> {
  const store = redisStore(client, CHAIN_OPTIONS);
  const ids = Array.from({ length: CHAIN_OPTIONS.capacity * CHAIN_OPTIONS.shards }, (_, n) => `earlier-${String(n)}`);
  for (let number = 0; number < users; number++) {
    const user = userOf(number);
    await store.update(user, (chain) => chain.record(ids));
    await client.hset(controlKey(user), "lagSeconds", LAG_SECONDS);
  }
}

async function sample(deployment: Deployment, memory: Memory[], durationMs: number): Promise<void> {
  for (let taken = 0; taken < SAMPLES; taken++) {
    await pause(durationMs / SAMPLES);
    memory.push(await deployment.memory());
  }
}

/** Kills one part after the other, at equal distances. */
class Chaos {
  readonly disturbed = newTimes();
  readonly kills = new Map<Part, number>();
  readonly restarts = new Map<Part, number[]>();

  constructor(
    private readonly deployment: Deployment,
    private readonly load: DemoLoad,
    private readonly say: (line: string) => void,
  ) {}

  async run(times: number, durationMs: number): Promise<void> {
    const parts = Array.from({ length: times }, () => PARTS).flat();
    const distance = durationMs / (parts.length + 1);
    const start = performance.now();
    for (const [index, part] of parts.entries()) {
      await pause(Math.max(0, start + (index + 1) * distance - performance.now()));
      await this.kill(part);
    }
  }

  private async kill(part: Part): Promise<void> {
    this.load.pages = this.disturbed;
    const start = performance.now();
    if (part === "Redis") this.load.storeEvents++;
    await this.deployment.killAndRestart(part);
    if (part === "Redis") this.load.storeEvents++;
    const ms = performance.now() - start;
    this.say(`${part} killed, ready again after ${(ms / 1000).toFixed(1)} s`);
    this.kills.set(part, (this.kills.get(part) ?? 0) + 1);
    this.restarts.set(part, [...(this.restarts.get(part) ?? []), ms]);
    await pause(AFTERMATH_MS);
    this.load.pages = this.load.calm;
  }
}
