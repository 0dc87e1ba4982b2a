/**
 * `seenguard-server` and its environment, each in a process of its own: a Redis for the histories; a stream of Redis or a
 * Kafka broker for the reports; and the service's consumer or the job of examples/flink/, which ingests them.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildJob, startJob } from "../../../scripts/lib/flink.mjs";
import { startKafka } from "../../../scripts/lib/kafka.mjs";
import { freePort } from "../../../scripts/lib/processes.mjs";
import { withProgress } from "../../../scripts/lib/run.mjs";
import { startRedis } from "../../../scripts/lib/redis.mjs";
import { buildService, chainFlags, startService } from "../../../scripts/lib/service.mjs";
import { CHAIN_OPTIONS } from "../chain.ts";
import { Consumer, type Process } from "./consumer.ts";

/** The stream of Redis, or the topic of Kafka. */
const STREAM = "seenguard-demo";
const PARTITIONS = 4;

export interface PipelineOptions {
  readonly kind: "redis" | "kafka" | "flink";
  /** The URL of an existing Redis; otherwise one is started. */
  readonly redisUrl: string;
  /** An existing broker, host:port; otherwise one is started. */
  readonly broker: string;
  readonly log: (line: string) => void;
  /** Registers a function to call at the end, the last one first, also if not all could be started. */
  readonly atEnd: (stop: () => Promise<unknown>) => void;
}

export interface Pipeline {
  readonly kind: PipelineOptions["kind"];
  /** The address of the service. */
  readonly url: string;
  readonly consumer: Consumer;
  /** The address of Flink's own page. */
  readonly dashboard?: string | undefined;
}

/** Resolves when the service listens and the consumer runs. */
export async function startPipeline(options: PipelineOptions): Promise<Pipeline> {
  const { kind, log, atEnd } = options;
  log("compiling seenguard-server");
  const program = await withProgress("cargo", () => buildService());
  const redisUrl = options.redisUrl === "" ? await startOwnRedis(atEnd) : options.redisUrl;
  const broker = kind === "redis" || options.broker !== "" ? options.broker : await startOwnBroker(options);

  const stream = kind === "redis" ? ["--stream", STREAM] : ["--kafka", broker, "--kafka-topic", STREAM];
  const args = ["--redis", redisUrl, "--namespace", "demo:{user}", "--log", "warn", ...chainFlags(CHAIN_OPTIONS)];
  const service = await startService(program, [...args, ...stream]);
  atEnd(() => service.stop());

  const job = kind === "flink" ? await jobOver(broker, service.url, options) : undefined;
  const consumer = new Consumer(job?.start ?? (() => startService(program, ["consume", ...args, ...stream])));
  atEnd(() => consumer.run(false));
  await consumer.run(true);
  return { kind, url: service.url, consumer, dashboard: job?.dashboard };
}

async function startOwnRedis(atEnd: PipelineOptions["atEnd"]): Promise<string> {
  const redis = await startRedis();
  atEnd(() => redis.stop());
  return redis.url;
}

async function startOwnBroker({ log, atEnd }: PipelineOptions): Promise<string> {
  log("starting a Kafka broker");
  const kafka = await startKafka();
  atEnd(() => kafka.stop());
  await kafka.createTopic(STREAM, PARTITIONS);
  return kafka.address;
}

/** Each start is a new job, which continues from the offsets that the former one committed with a checkpoint. */
async function jobOver(
  broker: string,
  service: string,
  { log, atEnd }: PipelineOptions,
): Promise<{ start: () => Promise<Process>; dashboard: string }> {
  log("compiling Flink's job");
  const jar = await withProgress("mvn", buildJob);
  const directory = await mkdtemp(join(tmpdir(), "seenguard-flink-"));
  atEnd(() => rm(directory, { recursive: true, force: true }));
  const port = await freePort();
  const args = ["--kafka", broker, "--kafka-topic", STREAM, "--service", service];
  const start = (): Promise<Process> => withProgress("Flink", () => startJob(directory, jar, args, { port }));
  return { start, dashboard: `http://127.0.0.1:${String(port)}/` };
}
