/** The demo over Kafka and Flink: impressions go through the job of examples/flink/, and the guard measures its lag. */
import { execFileSync } from "node:child_process";
import { test } from "@playwright/test";
import { startDemo, type RunningDemo } from "./processes.ts";
import { Reader, expect } from "./reader.ts";

/** JVMs take their time on a machine that is busy, and so does a first build of the service with Kafka's client. */
const PATIENCE_MS = 900_000;

/** As `ps` names them, in 15 characters: Kafka and Flink are the first two. */
const STARTED = ["java", "java", "redis-server", "seenguard-serve"];

let demo: RunningDemo;

test.beforeAll(async () => {
  test.setTimeout(PATIENCE_MS);
  demo = await startDemo({ CONSUMER: "flink" });
});
test.afterAll(async () => {
  await demo.stop();
});

test("what was seen goes through Flink, its lag is in the guard's panel, and it ends with the demo", async ({
  page,
}) => {
  test.setTimeout(PATIENCE_MS);
  const reader = new Reader(page, demo.url, "over-flink");

  await test.step("the page says that Flink takes the impressions in, and where its jobs are", async () => {
    await reader.open();
    await expect(page.locator("#pipeline")).toContainText("given to Flink");
    const dashboard = await page.getByRole("link", { name: "its jobs" }).getAttribute("href");
    const jobs = await fetch(`${String(dashboard)}jobs/overview`);
    expect(await jobs.json()).toMatchObject({ jobs: [{ name: "Seenguard", state: "RUNNING" }] });
  });

  await test.step("the job's shards cover what was looked at, and the panel has its lag", async () => {
    await expect(page.locator("#lag-text")).toHaveText("0 s");
    await reader.look();
    await reader.expectNothingPending();
    await expect(reader.panel.locator("figcaption")).toHaveText(
      /^Nothing is pending\. \d+ impressions reached the server: half within \d+ s, 95% within \d+ s\.$/,
    );
  });

  await test.step("what is held back before Flink does not come back, neither then nor later", async () => {
    await reader.setStream(false);
    expect((await reader.refreshAndLook(3)).guarded).toBe(0);
    expect(await reader.pending()).toBeGreaterThan(0);
    await reader.setStream(true);
    await reader.expectNothingPending();
    const seenBefore = new Set(reader.seen);
    await reader.refresh();
    expect(await reader.repeats("guarded", seenBefore)).toEqual([]);
    expect(await reader.repeats("unguarded", seenBefore)).toEqual([]); // the server knows now
  });

  await test.step("Ctrl-C ends Redis, Kafka, the service and Flink, too", async () => {
    const started = childrenOf(demo.process.pid);
    expect(started.map(({ name }) => name).sort()).toEqual(STARTED);
    await demo.stop("SIGINT");
    expect(started.filter(({ pid }) => isRunning(pid))).toEqual([]);
  });
});

function childrenOf(parent = 0): { pid: number; name: string }[] {
  const lines = execFileSync("ps", ["-o", "pid=,comm=", "--ppid", String(parent)], { encoding: "utf8" });
  const processes = [...lines.matchAll(/(\d+) (\S+)/g)].map(([, pid, name = ""]) => ({ pid: Number(pid), name }));
  // The compiler of TypeScript and the tools of the page's build have children of their own.
  return processes.filter(({ name }) => STARTED.includes(name));
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
