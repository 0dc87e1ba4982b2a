/** The demo's promise in a real browser: whatever the stream does, the guarded feed repeats nothing. */
import { test } from "@playwright/test";
import { demoInMemory, type RunningDemo } from "../support/processes.ts";
import { Reader, expect } from "./reader.ts";

const REFRESHES = 12;
/** The least of each count after these refreshes: each brings more than three items. */
const MANY = 3 * REFRESHES;

let demo: RunningDemo;

test.beforeAll(async () => {
  demo = await demoInMemory();
});

test("i1: no seen item is repeated: not while the stream is stopped, nor later, nor from a flushed store", async ({
  page,
}) => {
  test.setTimeout(240_000);
  const reader = new Reader(page, demo.url, "lagging");

  await test.step("the stream is stopped, and refreshes show repeats in the unguarded feed only", async () => {
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

  await test.step("a reload begins a new list without repeats, and the next one has none either", async () => {
    const seenBefore = new Set(reader.seen);
    await reader.reload();
    expect(await reader.repeats("guarded", seenBefore)).toEqual([]);
    await reader.refresh();
    expect(await reader.repeats("guarded", seenBefore)).toEqual([]);
    expect((await reader.repeats("unguarded", seenBefore)).length).toBeGreaterThan(0);
    await reader.look();
    expect((await reader.refreshAndLook(3)).guarded).toBe(0);
  });

  await test.step("the stream runs again, pending falls to 0, and still nothing is repeated", async () => {
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

  await test.step("the server's store is flushed, and still nothing is repeated", async () => {
    await fetch(`${demo.url}api/users/${reader.user}/flush`, { method: "POST" });
    const repeats = await reader.refreshAndLook(5);
    expect(repeats.guarded).toBe(0);
    expect(repeats.unguarded).toBeGreaterThan(0);
    expect(await reader.counter("repeats-guarded")).toBe(0);
  });
});
