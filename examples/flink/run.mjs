/**
 * The job on a cluster of its own, for a Redis that is there: README.md has the options. Ctrl-C stops the job with a
 * savepoint.
 */
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { parseArgs } from "node:util";
import { inProject } from "../../scripts/lib/paths.mjs";
import { CommandFailed } from "../../scripts/lib/run.mjs";
import { forFlink, main, setUp } from "../../scripts/setup.mjs";
import { FlinkCluster } from "./cluster.mjs";
import { buildJob } from "./job.mjs";

const USAGE = "usage: node examples/flink/run.mjs --redis redis://HOST:PORT --streams KEY,KEY… [options]";

/** @returns {{ parallelism: number, job: import("./cluster.mjs").JobOptions }} */
function read() {
  const text = /** @type {const} */ ({ type: "string" });
  const options = { redis: text, streams: text, prefix: text, chain: text, parallelism: text, savepoint: text };
  try {
    const { redis, streams, chain, parallelism, ...rest } = parseArgs({ options }).values;
    if (redis === undefined || streams === undefined) throw new Error("--redis and --streams are needed");
    const job = { ...rest, redis, streams: streams.split(","), chain: JSON.parse(chain ?? "{}") };
    return { job, parallelism: Number(parallelism ?? 2) };
  } catch (error) {
    throw new CommandFailed(`${String(error)}\n${USAGE}`);
  }
}

await main(async () => {
  const { job, parallelism } = read();
  await setUp(forFlink);
  const jar = await buildJob();
  const directory = inProject("target", "flink", "cluster");
  mkdirSync(directory, { recursive: true });
  console.log(`starting Flink; its logs are in ${directory}`);
  const cluster = await FlinkCluster.start(directory, { taskManagers: parallelism });
  try {
    const id = await cluster.submit(jar, job);
    console.log(`the job runs: ${cluster.url}/jobs/${id}`);
    await once(process, "SIGINT");
    console.log(`stopped; go on with --savepoint ${await cluster.stopWithSavepoint(id)}`);
  } finally {
    await cluster.stop();
  }
});
