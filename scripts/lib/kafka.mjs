/**
 * A local Kafka broker: Apache Kafka with one node, on fixed ports of the loopback, with its data in a temporary
 * directory. It can be killed or suspended, and restarted with its data.
 */
import { execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, rmSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { inProject, toolDirectory } from "./paths.mjs";
import { endWithUs, freePort, waitForOutput } from "./processes.mjs";
import { programs } from "./programs.mjs";

/** The POM with the broker's jars, and the Maven plugin that copies them. */
export const kafkaPom = inProject("scripts", "tools", "kafka", "pom.xml");

/** The directory of the jars, another one when the POM changes. */
export const kafkaJars = () => {
  const digest = createHash("sha256").update(readFileSync(kafkaPom)).digest("hex").slice(0, 16);
  return join(toolDirectory, `kafka-${digest}`);
};

/** The timeout of a command, several times its duration on a busy machine. */
const PATIENCE_MS = 60_000;

/**
 * @typedef {object} RunningKafka
 * @property {string} address host and port, for clients
 * @property {() => number} processId
 * @property {(name: string, partitions: number) => Promise<void>} createTopic
 * @property {(command: string, ...args: string[]) => Promise<string>} tool runs one of Kafka's commands against it, by
 *   its class in `org.apache.kafka.tools`; resolves to its standard output @property {() => Promise<void>} kill by
 *   SIGKILL; acknowledged records are in its directory
 * @property {() => Promise<void>} restart after `kill`; resolves when its topics have leaders
 * @property {() => void} pause by SIGSTOP: it does not respond, and its connections stay open
 * @property {() => void} resume
 * @property {() => Promise<void>} stop ends it, and removes its data
 */

/**
 * Starts a broker. Resolves when it serves clients. It ends when this process exits. @param {{ announce?: (port:
 * number) => Promise<number> }} [options] announce: returns the port that clients use instead of its own
 * @returns {Promise<RunningKafka>}
 */
export async function startKafka({ announce } = {}) {
  const directory = await mkdtemp(join(tmpdir(), "seenguard-kafka-"));
  const [port, controllerPort] = [await freePort(), await freePort()];
  const address = `127.0.0.1:${String((await announce?.(port)) ?? port)}`;
  const settings = join(directory, "server.properties");
  await writeFile(settings, settingsOf({ port, controllerPort, address, data: join(directory, "data") }));
  await command("kafka.tools.StorageTool", "format", "--standalone", "-t", CLUSTER, "-c", settings);
  let broker = await spawnBroker(settings);
  const kill = () => broker.stop("SIGKILL");
  const removeData = () => {
    // A running process would still write to the directory.
    broker.process.kill("SIGKILL");
    rmSync(directory, { recursive: true, force: true });
  };
  process.once("exit", removeData);
  const tool = (/** @type {string} */ name, /** @type {string[]} */ ...args) =>
    command(`org.apache.kafka.tools.${name}`, "--bootstrap-server", address, ...args);
  return {
    address,
    processId: () => broker.process.pid ?? 0,
    createTopic: async (name, partitions) => {
      await tool("TopicCommand", "--create", "--topic", name, "--partitions", String(partitions));
    },
    tool,
    kill,
    restart: async () => {
      broker = await spawnBroker(settings);
    },
    pause: () => void broker.process.kill("SIGSTOP"),
    resume: () => void broker.process.kill("SIGCONT"),
    stop: async () => {
      await kill();
      process.removeListener("exit", removeData);
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/**
 * Whether a group's committed offsets are the ends of all partitions; a partition without records may have none.
 * @param {RunningKafka} broker
 * @param {string} group
 * @param {number} partitions
 */
export async function isCaughtUp(broker, group, partitions) {
  // The command fails until the group exists.
  const described = await broker
    .tool("consumer.group.ConsumerGroupCommand", "--describe", "--group", group)
    .catch(() => "");
  const lines = described.split("\n").filter((line) => line.startsWith(`${group} `));
  const offsets = lines.map((line) => line.split(/ +/).slice(3, 5));
  return offsets.length === partitions && offsets.every(([committed, end]) => committed === end || end === "0");
}

/** The cluster's id, any 16 bytes. */
const CLUSTER = Buffer.from("seenguard's test").toString("base64url");

/**
 * The settings of a node that is broker and controller, without replicas.
 * @param {{ port: number, controllerPort: number, address: string, data: string }} options
 */
const settingsOf = ({ port, controllerPort, address, data }) => `
process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://127.0.0.1:${String(port)},CONTROLLER://127.0.0.1:${String(controllerPort)}
advertised.listeners=PLAINTEXT://${address},CONTROLLER://127.0.0.1:${String(controllerPort)}
controller.listener.names=CONTROLLER
controller.quorum.bootstrap.servers=127.0.0.1:${String(controllerPort)}
log.dirs=${data}
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
# After SIGKILL the next start is fenced until the session before it has ended.
broker.session.timeout.ms=2000
broker.heartbeat.interval.ms=500
# By default half of the heap.
log.cleaner.dedupe.buffer.size=4194304
`;

const java = () => programs.jre.find() ?? "java";
const classPath = () => ["-cp", join(kafkaJars(), "*")];

/**
 * Starts the process. Resolves when it logs that it has started: from then on clients can look up the leaders.
 * @param {string} settings
 */
async function spawnBroker(settings) {
  const logging = `-Dlog4j2.configurationFile=${inProject("scripts", "tools", "kafka", "log4j2.properties")}`;
  const args = ["-Xmx256m", logging, ...classPath(), "kafka.Kafka", settings];
  // In a process group of its own, so that a terminal's Ctrl-C reaches only this process, which ends its writers first.
  const broker = spawn(java(), args, { stdio: ["ignore", "pipe", "inherit"], detached: true });
  const { stop } = endWithUs(broker);
  await waitForOutput(broker, "the Kafka broker", /Kafka Server started/);
  return { process: broker, stop };
}

/** @param {string} name @param {string[]} args */
async function command(name, ...args) {
  const all = ["-Xmx128m", "-XX:TieredStopAtLevel=1", ...classPath(), name, ...args];
  const { stdout } = await promisify(execFile)(java(), all, { timeout: PATIENCE_MS, maxBuffer: 1 << 26 });
  return stdout;
}
