/** The demo's promise, in a real browser: whatever the stream does, nothing comes back on the guarded side. */
import { test } from "@playwright/test";
import { demoInMemory, type RunningDemo } from "../support/processes.ts";
import { Reader, expect } from "./reader.ts";

const REFRESHES = 12;
/** What these refreshes show at least, of whatever is counted: the feed brings more than three a refresh. */
const MANY = 3 * REFRESHES;

let demo: RunningDemo;

test.beforeAll(async () => {
  demo = await demoInMemory();
});

test("i1: nothing that was seen comes back: not while the stream is stopped, nor later, nor from a flushed store", async ({
  page,
}) => {
  test.setTimeout(240_000);
  const reader = new Reader(page, demo.url, "lagging");

  await test.step("the stream is stopped, and refreshes bring repeats to the unguarded feed alone", async () => {
    await reader.open();
    await reader.setStream(false);
    await reader.look();
    const repeats = await reader.refreshAndLook(REFRESHES);
    expect(repeats.guarded).toBe(0);
    expect(repeats.unguarded).toBeGreaterThan(MANY);
    expect(reader.seen.size).toBeGreaterThan(MANY);
    expect(await reader.counter("repeats-guarded")).toBe(0);
    expect(await reader.counter("repeats-unguarded")).toBeGreaterThan(MANY);
    expect(await reader.counter("stopped")).toBeGreaterThan(MANY);
    await reader.expectAllPending();
  });

  await test.step("a reload begins a new list without any, and the next one still has none", async () => {
    const seenBefore = new Set(reader.seen);
    await reader.reload();
    expect(await reader.repeats("guarded", seenBefore)).toEqual([]);
    await reader.refresh();
    expect(await reader.repeats("guarded", seenBefore)).toEqual([]);
    expect((await reader.repeats("unguarded", seenBefore)).length).toBeGreaterThan(0);
    await reader.look();
    expect((await reader.refreshAndLook(3)).guarded).toBe(0);
  });

  await test.step("the stream runs again, pending goes down to 0, and still nothing comes back", async () => {
    await reader.setLag(0);
    await reader.setStream(true);
    await reader.expectNothingPending();
    const seenBefore = new Set(reader.seen);
    await reader.refresh();
    expect(await reader.repeats("guarded", seenBefore)).toEqual([]);
    expect(await reader.repeats("unguarded", seenBefore)).toEqual([]); // the server knows now
    await reader.look();
    expect((await reader.refreshAndLook(3)).guarded).toBe(0);
  });

  await test.step("the server's store is flushed, and still nothing comes back", async () => {
    await fetch(`${demo.url}api/users/${reader.user}/flush`, { method: "POST" });
    const repeats = await reader.refreshAndLook(5);
    expect(repeats.guarded).toBe(0);
    expect(repeats.unguarded).toBeGreaterThan(0);
    expect(await reader.counter("repeats-guarded")).toBe(0);
  });
});
