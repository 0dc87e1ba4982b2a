/** The service, a stream and its consumer: the way of a posted report into the user's chain. */
import { setTimeout as pause } from "node:timers/promises";
import type { Redis } from "ioredis";
import type { RunningKafka } from "../../../scripts/lib/kafka.mjs";
import type { RunningRedis } from "../../../scripts/lib/redis.mjs";
import { chainFlags, startService, type RunningService } from "../../../scripts/lib/service.mjs";
import { shortIds } from "../ids.ts";
import { namespaceOf, recommended } from "../scale/chains.ts";
import { IMPRESSIONS, offer, reportOf, type Work } from "./load.ts";
import { processorSeconds } from "./processes.ts";

/** The number of concurrent requests: enough for batches, since an acknowledgement waits for others. */
export const CONNECTIONS = 64;
/** The partitions of the topic: each gets as many records as one in the example of docs/scale.md. */
export const PARTITIONS = 8;
const TOPIC = "reports";
/** The timeout until all acknowledged reports are in the chains. */
const DRAIN_MS = 120_000;
const POLL_MS = 50;
/** The intervals of timed reports, and of checks whether they have arrived. */
const PROBE_EACH_MS = 20;
const LOOK_EACH_MS = 2;

export const PROCESSES = ["service", "consumer", "Redis", "broker"] as const;
export type Process = (typeof PROCESSES)[number];

export interface FullTurn {
  /** Reports a second from the first request until all are in the chains. */
  readonly reportsPerSecond: number;
  /** The processor time of all threads for each report, in microseconds. */
  readonly microseconds: Readonly<Partial<Record<Process, number>>>;
}

export interface PacedTurn {
  /** The latency of the 204 in milliseconds. */
  readonly p50: number;
  readonly p99: number;
  /** The times from the request until the chain contains the report, in milliseconds. */
  readonly lags: readonly number[];
}

export class Pipeline {
  private probes = 0;

  private constructor(
    readonly name: string,
    readonly url: string,
    private readonly consumer: RunningService,
    private readonly pids: Readonly<Partial<Record<Process, number>>>,
    readonly stop: () => Promise<void>,
  ) {}

  /**
   * Starts it over a topic of the broker, if there is one, else over a stream of this Redis, which has the chains of
   * both.
   */
  static async start(program: string, redis: RunningRedis, broker?: RunningKafka): Promise<Pipeline> {
    await broker?.createTopic(TOPIC, PARTITIONS);
    const stream = broker === undefined ? ["--stream", TOPIC] : ["--kafka", broker.address, "--kafka-topic", TOPIC];
    const chains = ["--redis", redis.url, "--namespace", namespaceOf("{user}"), ...chainFlags(recommended)];
    const all = [...chains, ...stream, "--log", "warn"];
    const [service, consumer] = [
      await startService(program, all),
      await startService(program, ["consume", ...all, "--name", "bench"]),
    ];
    const idOf = ({ process: { pid = 0 } }: RunningService) => pid;
    const pids = {
      service: idOf(service),
      consumer: idOf(consumer),
      Redis: redis.process.pid ?? 0,
      ...(broker && { broker: broker.processId() }),
    };
    const stop = async () => {
      await Promise.all([service.stop(), consumer.stop()]);
    };
    return new Pipeline(broker === undefined ? "Redis Streams" : "Kafka", service.url, consumer, pids, stop);
  }

  /** Sends this number of reports as fast as possible. Resolves when all are in the chains. */
  async fullSpeed(work: Work, amount: number): Promise<FullTurn> {
    const [taken, before] = [await this.taken(), this.processorTimes()];
    const begun = performance.now();
    await offer(this.url, work, { amount, connections: CONNECTIONS });
    await this.hasTaken(taken + amount);
    const reportsPerSecond = (1000 * amount) / (performance.now() - begun);
    const after = this.processorTimes();
    const microseconds = Object.fromEntries(
      [...after].map(([name, seconds]) => [name, ((seconds - (before.get(name) ?? 0)) * 1e6) / amount]),
    );
    return { reportsPerSecond, microseconds };
  }

  /** Sends reports at this rate for a number of seconds, and times some others between them. */
  async paced(work: Work, rate: number, seconds: number, chains: Redis): Promise<PacedTurn> {
    const [taken, amount] = [await this.taken(), rate * seconds];
    const end = performance.now() + 1000 * seconds;
    const probing: Promise<number>[] = [];
    const probeAll = async () => {
      while (performance.now() < end) {
        probing.push(this.probe(chains));
        await pause(PROBE_EACH_MS);
      }
    };
    const pace = { amount, overallRate: rate, connections: CONNECTIONS };
    const [{ p50, p99 }] = await Promise.all([offer(this.url, work, pace), probeAll()]);
    const lags = await Promise.all(probing);
    await this.hasTaken(taken + amount + lags.length);
    return { p50, p99, lags };
  }

  /** Reports for a new user. Resolves to the time until the chain was in Redis. */
  private async probe(chains: Redis): Promise<number> {
    const user = `probe-${new URL(this.url).port}-${String(this.probes++)}`;
    const { path = "", ...request } = reportOf(user, shortIds(IMPRESSIONS, this.probes));
    const begun = performance.now();
    const answer = await fetch(this.url + path, request as RequestInit);
    if (answer.status !== 204) throw new Error(`the status of a report is ${String(answer.status)}`);
    while ((await chains.exists(`seen:${user}`)) === 0) {
      if (performance.now() > begun + DRAIN_MS) throw new Error(`${user} has no chain`);
      await pause(LOOK_EACH_MS);
    }
    return performance.now() - begun;
  }

  private async hasTaken(reports: number): Promise<void> {
    const deadline = performance.now() + DRAIN_MS;
    for (let taken = await this.taken(); taken < reports; taken = await this.taken()) {
      if (performance.now() > deadline) throw new Error(`${this.name}: ${String(reports - taken)} reports are missing`);
      await pause(POLL_MS);
    }
  }

  /** The number of reports that the consumer has applied. */
  private async taken(): Promise<number> {
    const numbers = await (await fetch(`${this.consumer.url}/metrics`)).text();
    return Number(/^seenguard_reports_total (\d+)$/m.exec(numbers)?.[1]);
  }

  private processorTimes(): Map<Process, number> {
    const pids = PROCESSES.flatMap((name) => (this.pids[name] === undefined ? [] : [[name, this.pids[name]] as const]));
    return new Map(pids.map(([name, pid]) => [name, processorSeconds(pid)]));
  }
}
