/**
 * A standalone Flink cluster on this machine, on free ports: a JobManager and TaskManagers of one slot each. A program
 * talks to it by its REST API.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { openSync, closeSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { freePort } from "../../scripts/lib/ports.mjs";
import { flinkJars } from "../../scripts/lib/servers.mjs";
import { jobClass } from "./job.mjs";

/** How long anything here may take on a machine that is busy with other things. */
const PATIENCE_MS = 120_000;
const POLL_MS = 100;

/** What Flink reaches into of the JDK: as in the configuration that it is shipped with. */
const openModules = [
  ...["java.lang", "java.lang.reflect", "java.net", "java.io", "java.nio", "java.text", "java.time", "java.util"],
  ...["java.util.concurrent", "java.util.concurrent.atomic", "java.util.concurrent.locks", "sun.nio.ch"],
].flatMap((name) => ["--add-opens", `java.base/${name}=ALL-UNNAMED`]);

/** A TaskManager's memory: 0.7 GB. */
const memory = {
  "taskmanager.cpu.cores": 1,
  "taskmanager.memory.task.heap.size": "256m",
  "taskmanager.memory.task.off-heap.size": "0m",
  "taskmanager.memory.framework.heap.size": "64m",
  "taskmanager.memory.framework.off-heap.size": "64m",
  "taskmanager.memory.managed.size": "0m",
  "taskmanager.memory.network.min": "32m",
  "taskmanager.memory.network.max": "32m",
  "taskmanager.memory.jvm-metaspace.size": "160m",
  "taskmanager.memory.jvm-overhead.min": "192m",
  "taskmanager.memory.jvm-overhead.max": "192m",
};
const jvmOfTaskManager = ["-Xmx320m", "-XX:MaxDirectMemorySize=128m", "-XX:MaxMetaspaceSize=160m", "-XX:+UseSerialGC"];
const jvmOfJobManager = ["-Xmx320m", "-XX:MaxMetaspaceSize=160m", "-XX:+UseSerialGC"];

const LOGGING = `
rootLogger.level = INFO
rootLogger.appenderRef.console.ref = console
appender.console.name = console
appender.console.type = CONSOLE
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{ISO8601} %-5p %c{1} - %m%n
`;

/**
 * @typedef {object} JobOptions
 * @property {string} redis address, "redis://host:port"
 * @property {readonly string[]} streams keys of the streams
 * @property {string} [prefix] of the lists' keys
 * @property {import("seenguard/server").ChainOptions} [chain] the options of the lists' readers; the format is native
 * @property {number} [parallelism] a slot each; by default as many as there are TaskManagers
 * @property {string} [savepoint] from which it goes on
 */

/** @param {JobOptions} options */
function argumentsOf({ redis, streams, prefix, chain = {} }) {
  const { capacity, shards, falsePositiveRate, ttlSeconds, seed } = chain;
  const all = {
    ...{ redis, streams: streams.join(","), prefix },
    ...{ capacity, shards, rate: falsePositiveRate, "ttl-seconds": ttlSeconds, seed },
  };
  return Object.entries(all).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, String(value)]));
}

/** One JVM, with its output in a file. It ends with this process at the latest. */
class Jvm {
  /**
   * @param {string} log
   * @param {readonly string[]} args
   */
  constructor(log, args) {
    this.log = log;
    const output = openSync(log, "a");
    // Not in this process's group: Ctrl-C leaves it time to stop a job.
    this.process = spawn("java", args, { stdio: ["ignore", output, output], detached: true });
    closeSync(output);
    this.ended = once(this.process, "exit");
    const endWithThis = () => this.process.kill("SIGKILL");
    process.once("exit", endWithThis);
    this.process.once("exit", () => process.removeListener("exit", endWithThis));
  }

  /** @param {NodeJS.Signals} [signal] */
  async stop(signal = "SIGTERM") {
    this.process.kill(signal);
    await this.ended;
  }
}

export class FlinkCluster {
  /** @type {Jvm[]} */
  taskManagers = [];

  /**
   * @param {string} directory
   * @param {string} url of the REST API
   * @param {Jvm} jobManager
   */
  constructor(directory, url, jobManager) {
    this.directory = directory;
    this.url = url;
    this.jobManager = jobManager;
    this.started = 0;
  }

  /**
   * Starts one. Its configuration, logs, checkpoints and savepoints go into `directory`.
   * @param {string} directory
   * @param {{ taskManagers?: number }} [options]
   */
  static async start(directory, { taskManagers = 2 } = {}) {
    const [restPort, rpcPort] = [await freePort(), await freePort()];
    const [checkpoints, temporary] = [join(directory, "checkpoints"), join(directory, "tmp")];
    rmSync(temporary, { recursive: true, force: true });
    for (const path of [checkpoints, temporary]) mkdirSync(path, { recursive: true });
    const configuration = {
      "jobmanager.rpc.address": "127.0.0.1",
      "jobmanager.rpc.port": rpcPort,
      "jobmanager.bind-host": "127.0.0.1",
      "taskmanager.host": "127.0.0.1",
      "taskmanager.bind-host": "127.0.0.1",
      "taskmanager.numberOfTaskSlots": 1,
      "rest.address": "127.0.0.1",
      "rest.bind-address": "127.0.0.1",
      "rest.port": restPort,
      ...memory,
      "io.tmp.dirs": temporary,
      "execution.checkpointing.dir": pathToFileURL(checkpoints).href,
      "execution.checkpointing.savepoint-dir": pathToFileURL(checkpoints).href,
      "heartbeat.interval": "1 s",
      "heartbeat.timeout": "10 s",
      "restart-strategy.type": "fixed-delay",
      "restart-strategy.fixed-delay.attempts": 2_147_483_647,
      "restart-strategy.fixed-delay.delay": "1 s",
    };
    const lines = Object.entries(configuration).map(([name, value]) => `${name}: ${String(value)}\n`);
    writeFileSync(join(directory, "config.yaml"), lines.join(""));
    writeFileSync(join(directory, "log4j2.properties"), LOGGING);
    const entry = "org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint";
    const jobManager = new Jvm(join(directory, "jobmanager.log"), argumentsOfJvm(directory, jvmOfJobManager, entry));
    const cluster = new FlinkCluster(directory, `http://127.0.0.1:${String(restPort)}`, jobManager);
    try {
      for (let number = 0; number < taskManagers; number++) cluster.addTaskManager();
      await cluster.hasSlots(taskManagers);
    } catch (error) {
      await cluster.stop();
      throw error;
    }
    return cluster;
  }

  addTaskManager() {
    this.started++;
    const log = join(this.directory, `taskmanager-${String(this.started)}.log`);
    const entry = "org.apache.flink.runtime.taskexecutor.TaskManagerRunner";
    const taskManager = new Jvm(log, argumentsOfJvm(this.directory, jvmOfTaskManager, entry));
    this.taskManagers.push(taskManager);
    return taskManager;
  }

  /** Kills the TaskManager that was started first, in the middle of whatever it does. */
  async killTaskManager() {
    await this.taskManagers.shift()?.stop("SIGKILL");
  }

  /** @param {number} slots */
  async hasSlots(slots) {
    await this.until(`${String(slots)} slots`, async () => {
      const overview = /** @type {{ "slots-total": number } | undefined} */ (
        await this.get("/overview").catch(() => undefined)
      );
      return overview !== undefined && overview["slots-total"] >= slots;
    });
  }

  /**
   * Submits the job. Returns its id when all its tasks run.
   * @param {string} jar
   * @param {JobOptions} options
   */
  async submit(jar, options) {
    const form = new FormData();
    form.append("jarfile", new Blob([readFileSync(jar)], { type: "application/x-java-archive" }), basename(jar));
    const { filename } = /** @type {{ filename: string }} */ (await this.send("POST", "/jars/upload", form));
    const run = {
      entryClass: jobClass,
      parallelism: options.parallelism ?? this.taskManagers.length,
      programArgsList: argumentsOf(options),
      ...(options.savepoint !== undefined && { savepointPath: options.savepoint }),
    };
    const { jobid } = /** @type {{ jobid: string }} */ (
      await this.send("POST", `/jars/${basename(filename)}/run`, run)
    );
    await this.isRunning(jobid);
    return jobid;
  }

  /** @param {string} job */
  async isRunning(job) {
    await this.until("all tasks run", async () => {
      const { state, vertices } = await this.stateOf(job);
      if (state === "FAILED") throw new Error((await this.failures(job)).join("\n"));
      return vertices.every(({ status }) => status === "RUNNING");
    });
  }

  /**
   * Stops a job with a savepoint. Returns where that is.
   * @param {string} job
   */
  async stopWithSavepoint(job) {
    const trigger = await this.send("POST", `/jobs/${job}/stop`, { drain: false });
    const request = /** @type {{ "request-id": string }} */ (trigger)["request-id"];
    let location = "";
    await this.until("a savepoint", async () => {
      const { operation } =
        /** @type {{ operation?: { location?: string, "failure-cause"?: { "stack-trace": string } } }} */ (
          await this.get(`/jobs/${job}/savepoints/${request}`)
        );
      const failure = operation?.["failure-cause"];
      if (failure) throw new Error(failure["stack-trace"]);
      location = operation?.location ?? "";
      return location !== "";
    });
    await this.until("the job's end", async () => (await this.stateOf(job)).state === "FINISHED");
    return location;
  }

  /** @param {string} job */
  async stateOf(job) {
    return /** @type {{ state: string, vertices: { status: string }[] }} */ (await this.get(`/jobs/${job}`));
  }

  /**
   * What the checkpoints of a job have cost so far.
   * @param {string} job
   */
  async checkpoints(job) {
    /** @typedef {{ p50: number, max: number }} Summary */
    const { counts, summary } =
      /** @type {{ counts: { completed: number }, summary: { end_to_end_duration: Summary, state_size: Summary } }} */ (
        await this.get(`/jobs/${job}/checkpoints`)
      );
    const { p50, max } = summary.end_to_end_duration;
    return { completed: counts.completed, bytes: summary.state_size.max, medianMs: p50, mostMs: max };
  }

  /**
   * Why a job has started again, with stack traces; the latest first.
   * @param {string} job
   */
  async failures(job) {
    const { exceptionHistory } = /** @type {{ exceptionHistory: { entries: { stacktrace: string }[] } }} */ (
      await this.get(`/jobs/${job}/exceptions`)
    );
    return exceptionHistory.entries.map(({ stacktrace }) => stacktrace);
  }

  /** @param {string} path */
  get(path) {
    return this.send("GET", path);
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {FormData | object} [body]
   * @returns {Promise<unknown>}
   */
  async send(method, path, body) {
    const isForm = body instanceof FormData;
    const response = await fetch(this.url + path, {
      method,
      ...(body !== undefined && { body: isForm ? body : JSON.stringify(body) }),
      ...(body !== undefined && !isForm && { headers: { "content-type": "application/json" } }),
    });
    if (!response.ok) throw new Error(`${method} ${path}: ${String(response.status)} ${await response.text()}`);
    return response.json();
  }

  /**
   * @param {string} what
   * @param {() => Promise<boolean>} isSo
   */
  async until(what, isSo) {
    const end = Date.now() + PATIENCE_MS;
    while (!(await isSo())) {
      const ended = [this.jobManager, ...this.taskManagers].find(({ process }) => process.exitCode !== null);
      if (ended) throw new Error(`a process of Flink has ended: ${ended.log}`);
      if (Date.now() > end) throw new Error(`${what}: not within ${String(PATIENCE_MS / 1000)} s`);
      await wait(POLL_MS);
    }
  }

  async stop() {
    await Promise.all([this.jobManager, ...this.taskManagers].map((jvm) => jvm.stop("SIGKILL")));
  }
}

/**
 * @param {string} directory
 * @param {readonly string[]} options of the JVM
 * @param {string} entry
 */
function argumentsOfJvm(directory, options, entry) {
  const logging = `-Dlog4j.configurationFile=${pathToFileURL(join(directory, "log4j2.properties")).href}`;
  return [...options, logging, ...openModules, "-cp", flinkJars(), entry, "--configDir", directory];
}
