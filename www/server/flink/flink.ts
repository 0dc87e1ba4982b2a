/**
 * Flink as the consumer: a Kafka broker, `seenguard-server`, which writes reports into it, and the job of
 * examples/flink/, which gives them back to the service. What leaves the demo's lag goes to the service's front door.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildJob, startJob } from "../../../scripts/lib/flink.mjs";
import { startKafka } from "../../../scripts/lib/kafka.mjs";
import { withProgress } from "../../../scripts/lib/progress.mjs";
import { buildService, startService } from "../../../scripts/lib/service.mjs";
import { ServiceStore, argumentsOf, fieldsOf, type RunningRustServer } from "../rust/server.ts";
import { Carrier } from "./carrier.ts";

const TOPIC = "impressions";
const PARTITIONS = 4;

export interface RunningFlink extends RunningRustServer {
  /** The address of Flink's own page. */
  readonly dashboard: string;
}

/** Resolves when all tasks of the job run. */
export async function startFlink(redisUrl: string, say: (line: string) => void): Promise<RunningFlink> {
  const stops: (() => Promise<unknown>)[] = [];
  const stop = async (): Promise<void> => {
    for (let next = stops.pop(); next !== undefined; next = stops.pop()) await next();
  };
  try {
    say("compiling seenguard-server and Flink's job");
    const program = await withProgress("cargo", () => buildService());
    const jar = await withProgress("mvn", buildJob);

    say("starting Kafka, the service and Flink");
    const kafka = await startKafka();
    stops.push(() => kafka.stop());
    await kafka.createTopic(TOPIC, PARTITIONS);
    const service = await startService(program, [
      ...argumentsOf(redisUrl),
      ...["--kafka", kafka.address, "--kafka-topic", TOPIC],
    ]);
    stops.push(() => service.stop());

    const directory = await mkdtemp(join(tmpdir(), "seenguard-flink-"));
    stops.push(() => rm(directory, { recursive: true, force: true }));
    const args = ["--kafka", kafka.address, "--kafka-topic", TOPIC, "--service", service.url];
    const job = await withProgress("Flink", () => startJob(directory, jar, args));
    stops.push(() => job.stop());

    const stored = new ServiceStore(service.url);
    const carrier = new Carrier(redisUrl, stored, say);
    stops.push(() => carrier.stop());
    return { url: service.url, dashboard: `${job.url}/`, stored, fieldsOf, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
