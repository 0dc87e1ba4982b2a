/**
 * Flink as the consumer: a standalone cluster of this server's own, a JobManager and two TaskManagers, that runs the
 * job of examples/flink/. It reads the stream that `redis/store.ts` writes, and writes the lists that it reads.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FlinkCluster } from "../../../examples/flink/cluster.mjs";
import { buildJob } from "../../../examples/flink/job.mjs";
import { withProgress } from "../../../scripts/lib/progress.mjs";
import { CHAIN_OPTIONS } from "../chain.ts";
import { IMPRESSIONS } from "../redis/layout.ts";

const TASK_MANAGERS = 2;

export interface RunningFlink {
  /** The address of Flink's own page. */
  readonly dashboard: string;
  stop(): Promise<void>;
}

/** Resolves when all tasks of the job run. */
export async function startFlink(redisUrl: string, say: (line: string) => void): Promise<RunningFlink> {
  if (CHAIN_OPTIONS.format !== undefined) throw new Error("Flink's job writes native shards: leave SHARD_FORMAT out");
  say("compiling Flink's job");
  const jar = await withProgress("javac", buildJob);
  say(`starting Flink: a JobManager and ${String(TASK_MANAGERS)} TaskManagers`);
  const directory = await mkdtemp(join(tmpdir(), "seenguard-flink-"));
  const remove = () => rm(directory, { recursive: true, force: true });
  try {
    const cluster = await withProgress("Flink", () => startJob(directory, jar, redisUrl));
    return { dashboard: `${cluster.url}/`, stop: () => cluster.stop().then(remove) };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function startJob(directory: string, jar: string, redisUrl: string): Promise<FlinkCluster> {
  const cluster = await FlinkCluster.start(directory, { taskManagers: TASK_MANAGERS });
  try {
    await cluster.submit(jar, { redis: redisUrl, streams: [IMPRESSIONS], chain: CHAIN_OPTIONS });
    return cluster;
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}
