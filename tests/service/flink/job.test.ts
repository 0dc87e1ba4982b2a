/**
 * The job of examples/flink between a real broker and the service: it is killed and rescaled, the service is down, and
 * refused records become dead letters. The tests compare the items that people's pages then leave out.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, onTestFailed, onTestFinished, test } from "vitest";
import {
  ask,
  buildJob,
  configure,
  flink,
  running,
  startJob,
  startJvm,
  type RunningJob,
} from "../../../scripts/lib/flink.mjs";
import { startKafka, type RunningKafka } from "../../../scripts/lib/kafka.mjs";
import { freePort } from "../../../scripts/lib/processes.mjs";
import { startRedis, type RunningRedis } from "../../../scripts/lib/redis.mjs";
import { buildService, chainFlags, startService, type RunningService } from "../../../scripts/lib/service.mjs";
import { pageOf } from "../kafka/deployment.ts";
import { until } from "../../support/processes.ts";
import { Histories, Producer, lettersOf, reportOf } from "./reports.ts";

const TOPIC = "impressions";
const DEAD_LETTERS = "dead-letters";
/** So low that no test meets a false positive. */
const CHAIN = chainFlags({ capacity: 1000, falsePositiveRate: 1e-9 });
/** The timeout until all of a test's records are in the chains, on a busy machine. */
const PATIENCE_MS = 120_000;
/** Several checkpoint intervals of a second. */
const OUTAGE_MS = 4_000;

const directory = mkdtempSync(join(tmpdir(), "seenguard-flink-"));
const stops: (() => Promise<void>)[] = [];
let failed = false;
let jar: string;
let program: string;
let redis: RunningRedis;
let kafka: RunningKafka;
let service: RunningService;
let job: RunningJob;

beforeAll(async () => {
  jar = await buildJob();
  program = await buildService();
  redis = await startRedis();
  stops.push(() => redis.stop());
  kafka = await startKafka();
  stops.push(() => kafka.stop());
  for (const topic of [TOPIC, DEAD_LETTERS, "newer"]) await kafka.createTopic(topic, 4);
  service = await serve("--listen", `127.0.0.1:${String(await freePort())}`);
  stops.push(() => service.stop("SIGKILL"));
});
afterAll(async () => {
  for (let stop = stops.pop(); stop !== undefined; stop = stops.pop()) await stop();
  if (failed) console.error(`the logs of Flink are in ${directory}`);
  else rmSync(directory, { recursive: true, force: true });
});

const serve = (...args: string[]) =>
  startService(program, ["--redis", redis.url, "--namespace", "home:{user}", "--log", "warn", ...CHAIN, ...args]);

const argumentsFor = (topic: string, ...args: string[]) => [
  ...["--kafka", kafka.address, "--kafka-topic", topic, "--checkpoint-ms", "1000"],
  ...(args.includes("--service") ? [] : ["--service", service.url]),
  ...args,
];
/** A job that ends with the tests. */
const launch: typeof startJob = async (...args) => {
  const started = await startJob(...args);
  stops.push(() => started.stop("SIGKILL"));
  return started;
};
const start = (parallelism: number, from?: string) =>
  launch(directory, jar, argumentsFor(TOPIC, "--dead-letters", DEAD_LETTERS), { parallelism, from });

/** Waits until pages leave out exactly the items that were seen and not made unseen after that. */
async function ingested(histories: Histories, by = service): Promise<void> {
  for (const user of histories.users) {
    const expected = histories.freshOf(user);
    const isSame = (fresh: readonly string[]) => fresh.join() === expected.join();
    const isIngested = async () => isSame(await pageOf(by, user, histories.idsOf(user)));
    await until(`all of ${user} is ingested`, isIngested, PATIENCE_MS).catch(() => undefined);
    expect(await pageOf(by, user, histories.idsOf(user)), user).toEqual(expected);
  }
}

/** The latest checkpoint that a job has left behind. */
function latestCheckpoint(): string {
  const all = readdirSync(join(directory, "checkpoints"), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith("_metadata"))
    .map((path) => join(directory, "checkpoints", path));
  const ages = new Map(all.map((path) => [path, statSync(path).mtimeMs]));
  const [latest] = all.sort((one, other) => (ages.get(other) ?? 0) - (ages.get(one) ?? 0));
  if (latest === undefined) throw new Error("there is no checkpoint");
  return join(latest, "..");
}

/** The number of checkpoints that a job has completed; Flink does not return it during the start. */
async function checkpointsOf({ url, id }: RunningJob): Promise<number> {
  const answer = (await ask(`${url}/jobs/${id}/checkpoints`).catch(() => undefined)) as
    { counts: { completed: number } } | undefined;
  return answer?.counts.completed ?? 0;
}

/** The reasons for which Flink has restarted tasks of the job. */
async function failuresOf({ url, id }: RunningJob): Promise<unknown[]> {
  const { exceptionHistory } = (await ask(`${url}/jobs/${id}/exceptions`)) as {
    exceptionHistory: { entries: unknown[] };
  };
  return exceptionHistory.entries;
}

/** The sum of a counter over the sink's tasks. */
async function counted(of: RunningJob, name: string): Promise<number> {
  const { vertices } = (await ask(`${of.url}/jobs/${of.id}`)) as { vertices: { id: string; name: string }[] };
  const sink = vertices.find((vertex) => vertex.name.startsWith("service"))?.id ?? "";
  const metrics = `${of.url}/jobs/${of.id}/vertices/${sink}/subtasks/metrics`;
  const ids = ((await ask(metrics)) as { id: string }[]).map(({ id }) => id);
  const id = ids.find((known) => known.endsWith(`.${name}`)) ?? "";
  const [metric] = (await ask(`${metrics}?agg=sum&get=${encodeURIComponent(id)}`)) as { sum: number }[];
  return metric?.sum ?? 0;
}

const many = Array.from({ length: 12 }, (_, record) =>
  Array.from({ length: 900 }, (_, index) => `many-${String(record)}-${String(index)}`),
);

describe("the job", () => {
  test("ingests the topic's records, and writes refused records to the dead letters", async () => {
    onTestFailed(() => void (failed = true));
    const now = Date.now();
    const indented = JSON.stringify(reportOf("ada", "impressions", "b"), undefined, 2);
    const refused: [key: string | Buffer, report: string | object][] = [
      ["ada", "no JSON"],
      ["ada", ""],
      ["ada", reportOf("bob", "impressions", "c")],
      ["ada", '{}, "user": "bob"'],
      [Buffer.from([0x61, 0xff]), reportOf("a\ufffd", "impressions", "c")],
      ["ada", { namespace: "home:ada", receivedAt: now, impressions: [], unseen: [], filler: "x".repeat(900_000) }],
    ];
    const withoutKey = reportOf("ada", "impressions", "c");
    const keyless = new Producer(kafka.address, TOPIC, { keyed: false });
    keyless.send("", withoutKey);
    await keyless.end();
    const producer = new Producer(kafka.address, TOPIC, { headers: ["seenguard=1", "of=tests"] });
    for (const [key, report] of refused.slice(0, 3)) producer.send(key, report);
    producer.send("ada", reportOf("ada", "impressions", "a"));
    producer.send("ada", indented);
    for (const [key, report] of refused.slice(3)) producer.send(key, report);
    // More than the service accepts in one request.
    for (const ids of many) {
      const impressions = ids.map((id) => ({ id, at: now }));
      producer.send("many", { namespace: "home:many", receivedAt: now, impressions, unseen: [] });
    }
    producer.send("zoe", reportOf("zoe", "impressions", "a"));
    await producer.end();
    // A device's post sets neither the time of receipt, nor the deletion, nor any other field of a record.
    const impressions = [{ id: "b", at: now }];
    const forged = { namespace: "home:zoe", now, receivedAt: now - 864_000_000, forgotten: true, impressions };
    const longer = `${JSON.stringify(forged)}, "form": 1`;
    refused.push(["zoe", longer]);
    const collector = new Producer(kafka.address, TOPIC, { headers: ["of=tests"] });
    collector.send("zoe", forged);
    collector.send("zoe", longer);
    await collector.end();

    job = await start(2);
    const isIngested = async () => (await pageOf(service, "ada", ["a", "b", "c"])).join() === "c";
    await until("what is readable is in the chain", isIngested, PATIENCE_MS);
    for (const ids of many)
      await until("so are many ids", async () => (await pageOf(service, "many", ids)).length === 0, PATIENCE_MS);
    const isPosted = async () => (await pageOf(service, "zoe", ["a", "b", "c"])).join() === "c";
    await until("so is what a device has posted", isPosted, PATIENCE_MS);
    const isRefused = async () => (await counted(job, "numRecordsSendErrors")) === refused.length + 1;
    await until("what is refused is counted", isRefused, PATIENCE_MS);

    const letters = await lettersOf(kafka.address, DEAD_LETTERS);
    const texts = refused.map(([, report]) => (typeof report === "string" ? report : JSON.stringify(report)));
    expect(letters.map(({ payload }) => payload).sort()).toEqual([JSON.stringify(withoutKey), ...texts].sort());
    for (const { key, headers } of letters) {
      expect(headers.get("seenguard-topic")).toBe(TOPIC);
      expect(headers.get("seenguard-code")).toMatch(/^[a-z-]+$/);
      expect(Number(headers.get("seenguard-offset"))).toBeGreaterThanOrEqual(0);
      if (key !== null) expect(headers.get("of")).toBe("tests");
    }
  });

  test("loses no record when it is killed, and continues from its checkpoint with more or fewer tasks", async () => {
    onTestFailed(() => void (failed = true));
    const histories = new Histories("killed", 200);
    const producer = new Producer(kafka.address, TOPIC);
    const kills = new Map([
      [12, 4],
      [30, 1],
    ]);
    // Right after a checkpoint, while records come: what it has not flushed would be lost.
    const killed = async (parallelism: number) => {
      const completed = await checkpointsOf(job);
      await until("there is a checkpoint", async () => (await checkpointsOf(job)) > completed, PATIENCE_MS);
      await job.stop("SIGKILL");
      job = await start(parallelism, latestCheckpoint());
    };
    let again = Promise.resolve();
    onTestFinished(() => again);
    await histories.send(producer, async (round) => {
      const parallelism = kills.get(round);
      if (parallelism === undefined) return;
      await again;
      again = killed(parallelism);
    });
    await producer.end();
    await again;
    await ingested(histories);
  });

  test("waits while the service is down, without a restart by Flink", async () => {
    onTestFailed(() => void (failed = true));
    const histories = new Histories("away", 100);
    const producer = new Producer(kafka.address, TOPIC);
    const outages = async () => {
      service.process.kill("SIGSTOP");
      await wait(OUTAGE_MS);
      service.process.kill("SIGCONT");
      await wait(OUTAGE_MS / 4);
      const { host } = new URL(service.url);
      await service.stop("SIGKILL");
      await wait(OUTAGE_MS);
      service = await serve("--listen", host);
    };
    let over = Promise.resolve();
    await histories.send(producer, (round) => {
      if (round === 5) over = outages();
      return Promise.resolve();
    });
    await producer.end();
    await over;
    await ingested(histories);
    expect(await failuresOf(job)).toEqual([]);
  });

  test("waits at a record of a newer form, and can be cancelled then", async () => {
    onTestFailed(() => void (failed = true));
    const newer = new Producer(kafka.address, "newer", { headers: ["seenguard=2"] });
    newer.send("eve", { whatever: "comes" });
    await newer.end();
    const producer = new Producer(kafka.address, "newer");
    producer.send("eve", reportOf("eve", "impressions", "a"));
    await producer.end();
    const before = (await lettersOf(kafka.address, DEAD_LETTERS)).length;
    const own = join(directory, "newer");
    const args = argumentsFor("newer", "--group", "newer", "--dead-letters", DEAD_LETTERS);
    const standing = await launch(own, jar, args, { parallelism: 1 });
    const isLogged = () => Promise.resolve(readFileSync(standing.log, "utf8").split("newer-form").length > 2);
    await until("it has tried again", isLogged, PATIENCE_MS);
    expect(await failuresOf(standing)).toEqual([]);
    expect(await pageOf(service, "eve", ["a"])).toEqual(["a"]);
    expect((await lettersOf(kafka.address, DEAD_LETTERS)).length).toBe(before);
    await ask(`${standing.url}/jobs/${standing.id}?mode=cancel`, "PATCH");
    await until("it has ended", () => Promise.resolve(standing.process.exitCode !== null));
  });

  test("a second job rebuilds all chains under another prefix, from the topic's beginning", async () => {
    onTestFailed(() => void (failed = true));
    const histories = new Histories("rebuilt", 50);
    const producer = new Producer(kafka.address, TOPIC);
    await histories.send(producer, () => Promise.resolve());
    await producer.end();
    await ingested(histories);
    const other = await serve("--prefix", "rebuilt:");
    const args = argumentsFor(TOPIC, "--group", "rebuilt", "--service", other.url);
    const replay = await launch(join(directory, "replay"), jar, args);
    await ingested(histories, other);
    expect(await pageOf(other, "ada", ["a", "b", "c"])).toEqual(["c"]);
    await replay.stop("SIGKILL");
    await other.stop();
  });
});

/** The configuration that Flink's scripts would pass to its processes. */
const STANDALONE = {
  "jobmanager.rpc.address": "127.0.0.1",
  "jobmanager.bind-host": "127.0.0.1",
  "taskmanager.host": "127.0.0.1",
  "taskmanager.bind-host": "127.0.0.1",
  "taskmanager.cpu.cores": 1,
  "taskmanager.memory.task.heap.size": "256m",
  "taskmanager.memory.task.off-heap.size": "0m",
  "taskmanager.memory.framework.heap.size": "64m",
  "taskmanager.memory.framework.off-heap.size": "64m",
  "taskmanager.memory.jvm-metaspace.size": "256m",
  "taskmanager.memory.jvm-overhead.min": "192m",
  "taskmanager.memory.jvm-overhead.max": "192m",
};

test("flink run and flink cancel, on a cluster of Flink's own processes", async () => {
  onTestFailed(() => void (failed = true));
  await job.stop("SIGKILL");
  const own = join(directory, "cluster");
  const url = await configure(own, { ...STANDALONE, "jobmanager.rpc.port": await freePort() });
  const [token, properties] = [join(own, "token"), join(own, "kafka.properties")];
  writeFileSync(token, "a-token-of-this-test\n");
  writeFileSync(properties, "security.protocol=PLAINTEXT\n");
  const guarded = await serve("--token-file", token);
  const files = ["--token-file", token, "--kafka-properties", properties];
  const args = argumentsFor(TOPIC, "--group", "cluster", "--service", guarded.url, ...files);
  const runtime = "org.apache.flink.runtime";
  const cluster = [
    startJvm(own, "jobmanager", `${runtime}.entrypoint.StandaloneSessionClusterEntrypoint`, ["--configDir", own]),
    startJvm(own, "taskmanager", `${runtime}.taskexecutor.TaskManagerRunner`, ["--configDir", own]),
  ] as const;
  try {
    const hasSlot = async () => ((await ask(`${url}/overview`)) as { "slots-total": number })["slots-total"] > 0;
    await until("there is a slot", () => hasSlot().catch(() => false), PATIENCE_MS);
    const run = flink(own, "run", "run", "--detached", jar, ...args);
    await run.ended;
    expect(run.process.exitCode, readFileSync(run.log, "utf8")).toBe(0);
    const id = await running(url, cluster[0]);
    const producer = new Producer(kafka.address, TOPIC);
    producer.send("joe", reportOf("joe", "impressions", "a"));
    await producer.end();
    await until("it is in the chain", async () => (await pageOf(service, "joe", ["a"])).length === 0, PATIENCE_MS);
    const cancel = flink(own, "cancel", "cancel", id);
    await cancel.ended;
    expect(cancel.process.exitCode, readFileSync(cancel.log, "utf8")).toBe(0);
    const { state } = (await ask(`${url}/jobs/${id}`)) as { state: string };
    expect(state).toMatch(/^CANCEL/);
  } finally {
    await Promise.all([...cluster.map((jvm) => jvm.stop("SIGKILL")), guarded.stop()]);
  }
});
