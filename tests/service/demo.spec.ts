/** The demo over seenguard-server and its pipeline: the same promise, with a stream whose process is stopped. */
import { execFileSync } from "node:child_process";
import { test } from "@playwright/test";
import { startKafka } from "../../scripts/lib/kafka.mjs";
import { startDemo, type RunningDemo } from "../support/processes.ts";
import { Reader, expect } from "../demo/reader.ts";

// One after the other: each compiles the service as it needs it.
test.describe.configure({ mode: "default" });
test.use({ viewport: { width: 1280, height: 900 } });

/** JVMs start slowly on a busy machine, and the first build of the service with Kafka's client is slow. */
const PATIENCE_MS = 900_000;
/** After an outage the next attempt to deliver comes as late as the outage was long. */
const BACKED_OFF = { timeout: 120_000 };

/** A process as `ps` names it, in 15 characters. */
const SERVICE = "seenguard-serve";
const STARTED = [SERVICE, "redis-server", "java"];

test("over Redis, nothing is repeated while the consumer is stopped, nor later", async ({ page }) => {
  test.setTimeout(PATIENCE_MS);
  const demo = await startDemo({ BACK_END: "redis" });
  const reader = new Reader(page, demo.url, "over-redis");
  await keepsItsPromise(reader, demo, "the consumer of seenguard-server", SERVICE);
  await endsWith(demo, ["redis-server", SERVICE, SERVICE]);
});

test("over Kafka, nothing is repeated while the consumer is stopped, nor later", async ({ page }) => {
  test.setTimeout(PATIENCE_MS);
  const demo = await startDemo({ BACK_END: "kafka" });
  const reader = new Reader(page, demo.url, "over-kafka");
  await keepsItsPromise(reader, demo, "Reports wait in Kafka, and the consumer of seenguard-server", SERVICE);
  await endsWith(demo, ["java", "redis-server", SERVICE, SERVICE]);
});

test("over Flink and an own broker, nothing is repeated while the job is stopped, nor later", async ({ page }) => {
  test.setTimeout(PATIENCE_MS);
  const broker = await startKafka();
  await broker.createTopic("seenguard-demo", 2);
  const demo = await startDemo({ BACK_END: "flink", BROKER: broker.address });
  const reader = new Reader(page, demo.url, "over-flink");
  await keepsItsPromise(reader, demo, "a job of Apache Flink", "java");
  const dashboard = await page.getByRole("link", { name: "Flink's jobs" }).getAttribute("href");
  const jobs = await fetch(`${String(dashboard)}jobs/overview`);
  expect(await jobs.json()).toMatchObject({ jobs: [{ name: "Seenguard", state: "RUNNING" }] });
  await endsWith(demo, ["java", "redis-server", SERVICE]);
  await broker.stop();
});

/** @param consumer the name of the process that ingests reports */
async function keepsItsPromise(reader: Reader, demo: RunningDemo, way: string, consumer: string): Promise<void> {
  const { page } = reader;
  await test.step("the page shows the pipeline, and disables unavailable controls with the reason", async () => {
    await reader.open();
    await expect(page.locator("#way")).toContainText(way);
    await page.getByText("Make it go wrong").click();
    for (const [control, reason] of [
      [page.getByRole("slider", { name: "Lag" }), "The pipeline has its own lag here"],
      [page.getByLabel("Lose 10% of events"), "The service does not lose acknowledged reports"],
      [page.getByLabel("Serve from a lagging replica"), "The service reads from one Redis"],
      [page.getByRole("button", { name: "Flush the server's store" }), "The service has no route for it"],
    ] as const) {
      await expect(control).toBeDisabled();
      await expect(control).toHaveAccessibleDescription(new RegExp(reason));
    }
  });

  await test.step("impressions reach the server, and the panel shows the lag", async () => {
    await reader.look();
    await reader.expectNothingPending();
    await expect(reader.panel.locator("figcaption")).toHaveText(
      /^Nothing is pending\. \d+ impressions reached the server: half within \d+ s, 95% within \d+ s\.$/,
    );
  });

  await test.step("the stream is stopped: its process has ended, and only the unguarded feed shows repeats", async () => {
    const before = startedBy(demo);
    await reader.setStream(false);
    const ended = before.filter(({ pid }) => !isRunning(pid));
    expect(ended.map(({ name }) => name)).toEqual([consumer]);
    const repeats = await reader.refreshAndLook(4);
    expect(repeats.guarded).toBe(0);
    expect(repeats.unguarded).toBeGreaterThan(0);
    expect(await reader.pending()).toBeGreaterThan(0);
    await expect(page.locator("#pipeline-waiting")).not.toHaveText("0");
  });

  await test.step("it runs again: all impressions reach the server, and nothing is repeated", async () => {
    await reader.setStream(true);
    await reader.expectNothingPending(BACKED_OFF);
    const seenBefore = new Set(reader.seen);
    await reader.refresh();
    expect(await reader.repeats("guarded", seenBefore)).toEqual([]);
    expect(await reader.repeats("unguarded", seenBefore)).toEqual([]); // the server knows now
    expect(await reader.counter("repeats-guarded")).toBe(0);
  });
}

/** As Ctrl-C in a terminal does. */
async function endsWith(demo: RunningDemo, names: readonly string[]): Promise<void> {
  await test.step("Ctrl-C ends all started processes", async () => {
    const started = startedBy(demo);
    expect(started.map(({ name }) => name).sort()).toEqual(names);
    await demo.stop("SIGINT");
    expect(started.filter(({ pid }) => isRunning(pid))).toEqual([]);
  });
}

/** Its children that are parts of the pipeline: the compiler of TypeScript and the tools of the page's build are others. */
function startedBy({ process: { pid = 0 } }: RunningDemo): { pid: number; name: string }[] {
  const lines = execFileSync("ps", ["-o", "pid=,comm=", "--ppid", String(pid)], { encoding: "utf8" });
  const processes = [...lines.matchAll(/(\d+) (\S+)/g)].map(([, pid, name = ""]) => ({ pid: Number(pid), name }));
  return processes.filter(({ name }) => STARTED.includes(name));
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
