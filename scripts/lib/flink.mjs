/**
 * A local Flink: its processes, each a JVM, from the jars in the Python environment, and the job of examples/flink,
 * whose jar Maven builds.
 */
import { spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { inProject } from "./paths.mjs";
import { endWithUs, freePort } from "./processes.mjs";
import { CommandFailed, run } from "./run.mjs";
import { flinkJars } from "./servers.mjs";

/** The timeout of any step of Flink, for a busy machine. */
const PATIENCE_MS = 120_000;
const POLL_MS = 100;

/** The JDK packages that Flink accesses by reflection, as in its default configuration. */
const openModules = [
  ...["java.lang", "java.lang.reflect", "java.net", "java.io", "java.nio", "java.text", "java.time", "java.util"],
  ...["java.util.concurrent", "java.util.concurrent.atomic", "java.util.concurrent.locks", "sun.nio.ch"],
].flatMap((name) => ["--add-opens", `java.base/${name}=ALL-UNNAMED`]);

const LOGGING = `
rootLogger.level = INFO
rootLogger.appenderRef.console.ref = console
appender.console.name = console
appender.console.type = CONSOLE
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{ISO8601} %-5p %c{1} - %m%n
logger.kafka.name = org.apache.kafka
logger.kafka.level = WARN
`;

/** Builds the job's jar. Resolves to its path. */
export async function buildJob() {
  const directory = inProject("examples", "flink");
  await run("mvn", ["--quiet", "--batch-mode", "--file", join(directory, "pom.xml"), "package"]);
  return join(directory, "target", "seenguard-flink.jar");
}

/**
 * One of Flink's processes. Its output goes to `log`; it ends with this process at the latest.
 * @typedef {object} RunningJvm
 * @property {string} log
 * @property {import("node:child_process").ChildProcess} process
 * @property {Promise<unknown>} ended
 * @property {(signal?: NodeJS.Signals) => Promise<void>} stop
 */

/**
 * @param {string} directory the directory of its configuration, written by `configure`
 * @param {string} name the name of its log
 * @param {string} main the class whose `main` it runs
 * @param {readonly string[]} args
 * @returns {RunningJvm}
 */
export function startJvm(directory, name, main, args) {
  const log = join(directory, `${name}.log`);
  const output = openSync(log, "a");
  const logging = `-Dlog4j.configurationFile=${pathToFileURL(join(directory, "log4j2.properties")).href}`;
  const heap = ["-Xmx384m", "-XX:MaxMetaspaceSize=256m", "-XX:+UseSerialGC"];
  // Only the fast compiler: runs are too short for the optimizing one.
  const compiler = "-XX:TieredStopAtLevel=1";
  // In a process group of its own, so that a terminal's Ctrl-C reaches only this process.
  const jvm = spawn("java", [...heap, compiler, logging, ...openModules, "-cp", flinkJars(), main, ...args], {
    env: { ...process.env, FLINK_CONF_DIR: directory },
    stdio: ["ignore", output, output],
    detached: true,
  });
  closeSync(output);
  return { log, process: jvm, ...endWithUs(jvm) };
}

/**
 * Writes a configuration into a directory. Checkpoints go there, too. Resolves to the address of the REST API.
 * @param {string} directory
 * @param {Readonly<Record<string, string | number>>} [settings]
 * @param {number} [restPort] a free one, if it is not given
 */
export async function configure(directory, settings = {}, restPort) {
  const port = restPort ?? (await freePort());
  const configuration = {
    "rest.address": "127.0.0.1",
    "rest.bind-address": "127.0.0.1",
    "rest.port": port,
    "rest.bind-port": port,
    "io.tmp.dirs": directory,
    // Types without a Flink serializer fail, instead of using one that is ten times slower.
    "pipeline.generic-types": "false",
    "execution.checkpointing.dir": pathToFileURL(join(directory, "checkpoints")).href,
    "taskmanager.memory.managed.size": "0m",
    "taskmanager.memory.network.max": "32m",
    "taskmanager.memory.network.min": "32m",
    ...settings,
  };
  mkdirSync(directory, { recursive: true });
  const lines = Object.entries(configuration).map(([name, value]) => `${name}: ${String(value)}\n`);
  writeFileSync(join(directory, "config.yaml"), lines.join(""));
  writeFileSync(join(directory, "log4j2.properties"), LOGGING);
  return `http://127.0.0.1:${String(port)}`;
}

/** Flink's own command, as `flink` starts it. @param {string} directory @param {string} name @param {string[]} args */
export const flink = (directory, name, ...args) =>
  startJvm(directory, name, "org.apache.flink.client.cli.CliFrontend", args);

/** A request to the REST API. @param {string} address @param {string} [method] @returns {Promise<unknown>} */
export async function ask(address, method = "GET") {
  const response = await fetch(address, { method, signal: AbortSignal.timeout(PATIENCE_MS) });
  if (!response.ok) throw new Error(`${method} ${address}: ${String(response.status)} ${await response.text()}`);
  return response.json();
}

/** @typedef {{ jobs: { jid: string, tasks: { total: number, running: number } }[] }} Overview */

/**
 * Waits until all tasks of the only job run. Resolves to its id.
 * @param {string} url of the REST API
 * @param {RunningJvm} jvm the process, which must not end meanwhile
 * @returns {Promise<string>}
 */
export async function running(url, jvm) {
  const end = Date.now() + PATIENCE_MS;
  while (Date.now() < end && jvm.process.exitCode === null) {
    const overview = await ask(`${url}/jobs/overview`).catch(() => undefined);
    const job = /** @type {Overview | undefined} */ (overview)?.jobs[0];
    if (job !== undefined && job.tasks.running === job.tasks.total) return job.jid;
    await wait(POLL_MS);
  }
  throw new CommandFailed(`the job does not run:\n${readFileSync(jvm.log, "utf8").slice(-4000)}`);
}

/**
 * The job in a JVM of its own, with an embedded cluster.
 * @typedef {RunningJvm & { url: string, id: string }} RunningJob
 */

/**
 * Starts the job. Resolves when all its tasks run.
 * @param {string} directory for its configuration, logs and checkpoints
 * @param {string} jar
 * @param {readonly string[]} args the job's own
 * @param {{ parallelism?: number, from?: string | undefined, port?: number }} [options] `from`: the checkpoint from which
 *   it goes on; `port`: of the REST API
 * @returns {Promise<RunningJob>}
 */
export async function startJob(directory, jar, args, { parallelism = 2, from, port } = {}) {
  const url = await configure(directory, {}, port);
  const restored = from === undefined ? [] : ["--fromSavepoint", from];
  const cluster = ["--target", "local", "--parallelism", String(parallelism)];
  const jvm = flink(directory, "job", "run", ...cluster, ...restored, jar, ...args);
  try {
    return { ...jvm, url, id: await running(url, jvm) };
  } catch (error) {
    await jvm.stop("SIGKILL");
    throw error;
  }
}
