/** The service over a Kafka broker and a Redis, and its consumers. */
import { expect } from "vitest";
import { startRedis } from "../../../scripts/lib/redis.mjs";
import { buildService, chainFlags, startService, type RunningService } from "../../../scripts/lib/service.mjs";
import { until } from "../../support/processes.ts";
import { isCaughtUp, type RunningKafka, startKafka } from "../../../scripts/lib/kafka.mjs";

/** The topic of the documentation's examples. */
export const TOPIC = "seenguard-reports";
/** The program's default. */
const GROUP = "seenguard";
/** So low that no test meets a false positive. */
const CHAIN = { capacity: 1_000, falsePositiveRate: 0.000_001 };
/** A killed consumer owns its partitions for 10 s more. */
const DRAIN_MS = 120_000;

export interface Deployment {
  readonly broker: RunningKafka;
  readonly service: RunningService;
  /** Starts one more consumer, of the group unless these options name another. */
  consume(...more: readonly string[]): Promise<RunningService>;
  /** Resolves when the group has committed everything that is in the topic. */
  caughtUp(): Promise<void>;
  stop(): Promise<void>;
}

export async function deploy(partitions: number): Promise<Deployment> {
  const program = await buildService();
  const [redis, broker] = await Promise.all([startRedis(), startKafka()]);
  await broker.createTopic(TOPIC, partitions);
  const stream = ["--kafka", broker.address, "--kafka-topic", TOPIC];
  const common = ["--namespace", "home:{user}", "--log", "error", ...chainFlags(CHAIN)];
  const options = ["--redis", redis.url, ...stream, ...common];
  const service = await startService(program, options);
  const running = [service];
  return {
    broker,
    service,
    consume: async (...more) => {
      const consumer = await startService(program, ["consume", ...options, ...more]);
      running.push(consumer);
      return consumer;
    },
    caughtUp: () => until("all records are ingested", () => isCaughtUp(broker, GROUP, partitions), DRAIN_MS),
    stop: async () => {
      await Promise.all(running.map((each) => each.stop("SIGKILL")));
      await Promise.all([broker.stop(), redis.stop()]);
    },
  };
}

/** The items of these that the service offers to a user. */
export async function pageOf(service: RunningService, user: string, ranked: readonly string[]): Promise<string[]> {
  const answer = await fetch(`${service.url}/v1/users/${encodeURIComponent(user)}/page`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ ranked, size: ranked.length }),
    signal: AbortSignal.timeout(ANSWER_MS),
  });
  expect(answer.status).toBe(200);
  return ((await answer.json()) as { items: string[] }).items;
}

/** The timeout of a response: the service promises 4 s without the broker. */
export const ANSWER_MS = 5_000;
