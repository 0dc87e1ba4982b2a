/** Loads and saves of many rows yield to other tasks. */
import { describe, expect, test } from "vitest";
import { CLOCK, deviceClock } from "../../js/platform/host.js";
import { idsOf, MapStorage, newPage, openGuard, uniqueNamespace } from "../support/node.js";

const ROWS = 10;
const IDS_A_ROW = 1_000;
const all = idsOf("id", ROWS * IDS_A_ROW);

/** A clock on which each call takes 10 ms. */
function busyClock() {
  let ms = Date.now();
  return { [CLOCK]: { ...deviceClock, wallMs: () => (ms += 10) } };
}

/** A storage with ten rows. */
async function withRows() {
  const [storage, namespace] = [new MapStorage(), uniqueNamespace()];
  const { guard } = await openGuard({ storage, namespace });
  for (let row = 0; row < ROWS; row++) {
    guard.record(all.slice(row * IDS_A_ROW, (row + 1) * IDS_A_ROW));
    await guard.flush();
  }
  await guard.close();
  return { storage, namespace };
}

/** A page with a loaded engine. */
async function readyPage() {
  const page = newPage();
  await openGuard({}, page);
  return page;
}

/** Runs in a task of its own after the first operation of this kind. */
function afterFirst(storage: MapStorage, wanted: "get" | "set", run: () => void): void {
  let isFirst = true;
  storage.before = (operation, key) => {
    if (!isFirst || operation !== wanted || !key.includes("/r/")) return;
    isFirst = false;
    setTimeout(run);
  };
}

describe("a load of ten rows", () => {
  test("yields to other tasks", async () => {
    const { storage, namespace } = await withRows();
    const page = await readyPage();
    const state = { isOpen: false, wasOpen: undefined as boolean | undefined };
    afterFirst(storage, "get", () => (state.wasOpen = state.isOpen));
    const { guard } = await openGuard({ storage, namespace, ...busyClock() }, page);
    state.isOpen = true;
    await expect.poll(() => state.wasOpen).toBe(false);
    expect(guard.filter(all)).toEqual([]);
  });

  test("drops the remaining ones after a clear", async () => {
    const { storage, namespace } = await withRows();
    const page = await readyPage();
    afterFirst(storage, "get", () => void page.SeenGuard.clear(namespace, storage));
    const { guard, errors } = await openGuard({ storage, namespace, ...busyClock() }, page);
    await guard.flush();
    expect(guard.filter(all)).toHaveLength(all.length);
    expect(errors).toEqual([]);
  });
});

test("a save of ten rows yields to other tasks", async () => {
  const [storage, namespace] = [new MapStorage(), uniqueNamespace()];
  const { guard } = await openGuard({ storage, namespace, ...busyClock() }, await readyPage());
  const rows = () => [...storage.values.keys()].filter((key) => key.includes("/r/")).length;
  const counted: number[] = [];
  await guard.flush();
  const before = rows();
  afterFirst(storage, "set", () => counted.push(rows() - before));
  guard.record(all);
  await guard.flush();
  expect(rows() - before).toBe(ROWS);
  expect(counted[0]).toBeLessThan(ROWS);
  const next = await openGuard({ storage, namespace }, newPage());
  expect(next.guard.filter(all)).toEqual([]);
});
