/**
 * The producers of examples/kafka, in Go, Java and Python, write to the service's topic: a user's records are in the
 * same partition as the service's, and are ingested into the user's chain.
 */
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { kafkaJars } from "../../../scripts/lib/kafka.mjs";
import { until } from "../../support/processes.ts";
import { buildGoModule, buildJava, exampleOf, makeTempDirectory, preparePython, run } from "../languages/tools.ts";
import { deploy, pageOf, TOPIC, type Deployment } from "./deployment.ts";

const USERS = ["ada", "bob", "eve é", "用户", ...Array.from({ length: 16 }, (_, index) => `user-${index}`)];
const PARTITIONS = 12;
/** Compilers run, too, and consumers have a deadline of their own. */
const PATIENCE = { timeout: 300_000 };

/** Writes lines, of a user and the body of a device's request, to the broker at this address. */
type Producer = (address: string, lines: string) => Promise<unknown>;

const directory = makeTempDirectory();
let deployment: Deployment;
beforeAll(async () => {
  deployment = await deploy(PARTITIONS);
});
afterAll(async () => {
  await deployment.stop();
  directory.remove();
});

const producers: Record<string, () => Promise<Producer>> = {
  go: async () => {
    const program = await buildGoModule(directory.path, "go reports", "kafka");
    return (address, input) => run(program, [address], { cwd: directory.path, input });
  },
  java: async () => {
    const drive = await buildJava(directory.path, ["Reports"], "Produce", [join(kafkaJars(), "*")]);
    return (address, input) => drive(input, [address]);
  },
  python: () => {
    const drive = preparePython(directory.path, "reports", "produce.py");
    return Promise.resolve((address, input) => drive([address], input));
  },
};

function reportOf(user: string, writer: string): string {
  const now = Date.now();
  return JSON.stringify({ namespace: `home:${user}`, now, impressions: [{ id: `by ${writer}`, at: now }] });
}

async function reportToTheService(user: string): Promise<void> {
  const path = `${deployment.service.url}/v1/users/${encodeURIComponent(user)}/impressions`;
  const headers = { "Content-Type": "application/json" };
  const { status } = await fetch(path, { method: "POST", headers, body: reportOf(user, "the service") });
  expect(status).toBe(204);
}

/** The partitions in which each user's records are. */
async function partitionsOfUsers(records: number): Promise<Map<string, Set<string>>> {
  const formatted = ["print.key=true", "print.partition=true"].flatMap((how) => ["--formatter-property", how]);
  const limits = ["--from-beginning", "--max-messages", String(records), "--timeout-ms", "30000"];
  const read = await deployment.broker.tool("consumer.ConsoleConsumer", "--topic", TOPIC, ...limits, ...formatted);
  const partitions = new Map<string, Set<string>>();
  const found = [...read.matchAll(/^Partition:(\d+)\t([^\t]+)\t/gm)];
  expect(found).toHaveLength(records);
  for (const [, partition = "", user = ""] of found)
    partitions.set(user, new Set([...(partitions.get(user) ?? []), partition]));
  return partitions;
}

test("the producer in Go is formatted as Go's are", async () => {
  const code = exampleOf("go reports");
  expect(await run("gofmt", [], { cwd: directory.path, input: code })).toBe(code);
});

test("all writers send a user to one partition, and their reports are in the user's chain", PATIENCE, async () => {
  for (const user of USERS) await reportToTheService(user);
  const writers = Object.keys(producers);
  for (const [writer, build] of Object.entries(producers)) {
    const produce = await build();
    const lines = USERS.map((user) => `${user}\t${reportOf(user, writer)}\n`);
    await produce(deployment.broker.address, lines.join(""));
  }
  const partitions = await partitionsOfUsers(USERS.length * (writers.length + 1));
  for (const user of USERS) expect([user, partitions.get(user)?.size]).toEqual([user, 1]);
  expect(new Set([...partitions.values()].flatMap((of) => [...of])).size).toBeGreaterThan(PARTITIONS / 2);

  await deployment.consume();
  await deployment.caughtUp();
  const ids = ["the service", ...writers].map((writer) => `by ${writer}`);
  for (const user of USERS) expect(await pageOf(deployment.service, user, [...ids, "fresh"])).toEqual(["fresh"]);
});

test("after a transactional producer's records consumers reach the end, and so does a replay", PATIENCE, async () => {
  // Markers are after them: the end of a partition is not the offset after its last record.
  const records = ["--num-records", "100", "--record-size", "10", "--throughput", "1000"];
  await deployment.broker.tool("ProducerPerformance", "--topic", TOPIC, ...records, "--transactional-id", "markers");
  const replay = await deployment.consume("--group", "replay", "--until-end");
  await until("it ends", () => Promise.resolve(replay.process.exitCode !== null));
  expect(replay.process.exitCode).toBe(0);
  await deployment.caughtUp();
});
