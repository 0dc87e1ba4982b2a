/** What judges the soaks finds what it is to find: a repeat, a loss, a rise. */
import { ShardChain } from "seenguard/server";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { lostIds } from "../../lab/soak/audit.ts";
import type { Entry, Note, Shown } from "../../lab/soak/browser/app.ts";
import { DAY_MS, VirtualClock } from "../../lab/soak/browser/clock.ts";
import { Ledger, type Visit } from "../../lab/soak/browser/ledger.ts";
import { trendOf } from "../../lab/soak/trend.ts";

const WINDOW_DAYS = 5;
const REMEMBER = 3;
const EPOCH = Date.UTC(2026, 0, 1);

let ledger: Ledger;

beforeEach(() => {
  vi.useFakeTimers({ now: EPOCH, toFake: ["Date", "performance"] });
  ledger = new Ledger(new VirtualClock({ startedMs: EPOCH, epochMs: EPOCH, rate: 1 }), WINDOW_DAYS, REMEMBER);
});
afterEach(() => {
  vi.useRealTimers();
});

const after = (ms: number) => vi.advanceTimersByTime(ms);
const minutes = (count: number) => count * 60_000;

function noteOf(entries: readonly Entry[], durable: number): Note<null> {
  return { result: null, entries, durable, longTasks: [], errors: [] };
}

/** Records ids in a visit; they are in storage, unless it says that they are not. */
function record(visit: Visit, ids: readonly string[], isStored = true): void {
  const [from, to] = [Date.now(), Date.now()];
  const durable = isStored ? visit.recordings.length + ids.length : 0;
  ledger.note(
    visit,
    noteOf(
      ids.map((id) => ({ kind: "seen", id, from, to })),
      durable,
    ),
  );
}

/** The repeats that showing these ids makes. */
function show(visit: Visit, ids: readonly string[]): readonly string[] {
  after(1);
  const shown: Shown = { ids, from: Date.now(), to: Date.now(), first: 0, firstStopped: 0 };
  ledger.show(visit, shown, performance.now());
  ledger.judge(true);
  return ledger.repeats.splice(0).map((repeat) => repeat.split(":")[0] ?? "");
}

describe("i1: something that was recorded is a repeat", () => {
  test("in the same tab, at once, even if it is not in storage", () => {
    const visit = ledger.open("ada");
    record(visit, ["a"], false);
    expect(show(visit, ["a", "b"])).toEqual(["ada a"]);
  });

  test("in another tab ten seconds after it was stored; a little earlier it is counted as late", () => {
    const [one, two] = [ledger.open("ada"), ledger.open("ada")];
    after(1);
    record(one, ["a"]);
    after(500);
    expect(show(two, ["a"])).toEqual([]);
    expect(ledger.late).toBe(0);
    after(4000);
    expect(show(two, ["a"])).toEqual([]);
    expect(ledger.late).toBe(1);
    after(6000);
    expect(show(two, ["a"])).toEqual(["ada a"]);
  });

  test("in a tab that opens later, if it was stored", () => {
    const one = ledger.open("ada");
    record(one, ["a"]);
    record(one, ["b"], false);
    after(1);
    expect(show(ledger.open("ada"), ["a", "b"])).toEqual(["ada a"]);
  });

  test("until the window is over, or as many others as the device remembers were recorded", () => {
    const visit = ledger.open("ada");
    record(visit, ["a"]);
    after(WINDOW_DAYS * DAY_MS - 1000);
    expect(show(visit, ["a"])).toEqual(["ada a"]);
    after(2000);
    expect(show(visit, ["a"])).toEqual([]);
    record(visit, ["b", "c", "d"]);
    expect(show(visit, ["b"])).toEqual([]);
    expect(show(visit, ["c"])).toEqual(["ada c"]);
  });

  test("not for another person", () => {
    record(ledger.open("ada"), ["a"]);
    expect(show(ledger.open("ben"), ["a"])).toEqual([]);
  });

  test("not once it was taken back, until it is recorded again", () => {
    const visit = ledger.open("ada");
    record(visit, ["a"]);
    after(minutes(1));
    ledger.takesBack(visit, "a");
    expect(show(visit, ["a"])).toEqual([]);
    after(minutes(1));
    record(visit, ["a"]);
    expect(show(visit, ["a"])).toEqual(["ada a"]);
  });

  test("not as long as a taking back of another tab may not have been stored yet", () => {
    const [one, two] = [ledger.open("ada"), ledger.open("ada")];
    record(two, ["a"]);
    const announced = ledger.takesBack(one, "a");
    const at = Date.now();
    ledger.note(one, noteOf([{ kind: "unseen", id: "a", from: at, to: at }], 0));
    ledger.withdraw(announced);
    after(minutes(1));
    record(two, ["a"]);
    expect(show(two, ["a"])).toEqual([]);
    ledger.end(one);
    after(minutes(1));
    record(two, ["a"]);
    expect(show(two, ["a"])).toEqual(["ada a"]);
  });

  test("not once the person was cleared, until it is recorded again", () => {
    const visit = ledger.open("ada");
    record(visit, ["a"]);
    ledger.clears("ada");
    expect(show(visit, ["a"])).toEqual([]);
    after(minutes(1));
    record(visit, ["a"]);
    expect(show(visit, ["a"])).toEqual(["ada a"]);
  });
});

describe("something that was stored is lost", () => {
  test("if no report had it since, and it was not cleared", () => {
    const [ada, ben] = [ledger.open("ada"), ledger.open("ben")];
    record(ada, ["reported", "lost"]);
    record(ada, ["never stored"], false);
    record(ben, ["cleared"]);
    ledger.clears("ben");
    const received = (_: string, id: string) => (id === "reported" ? Date.now() : undefined);
    expect(ledger.lost(received)).toEqual(["ada lost"]);
  });

  test("if reports had an earlier recording of it alone", () => {
    const visit = ledger.open("ada");
    record(visit, ["a"]);
    const first = Date.now();
    after(minutes(10));
    record(visit, ["a"]);
    expect(ledger.lost(() => first)).toEqual(["ada a"]);
  });
});

test("an acknowledged impression in no chain is lost", async () => {
  const chain = await ShardChain.create();
  chain.record(["a", "b"]);
  const snapshot = chain.snapshot();
  chain.free();
  const acknowledged = new Map([
    ["ada", new Set(["a", "lost"])],
    ["ben", new Set(["b"])],
  ]);
  expect(await lostIds(acknowledged, () => Promise.resolve(snapshot))).toEqual(["ada lost"]);
});

describe("a curve", () => {
  const points = (valueAt: (at: number) => number) =>
    Array.from({ length: 40 }, (_, at) => ({ at, value: valueAt(at) }));
  /** Up and down between -1 and 1. */
  const wave = (at: number) => Math.sin(at * 2.4);

  test("that goes up and down is flat, and so is one that falls", () => {
    expect(trendOf(points((at) => 1000 + 100 * wave(at))).isFlat).toBe(true);
    expect(trendOf(points((at) => 1000 - 10 * at + wave(at))).isFlat).toBe(true);
  });

  test("that rises by more than it goes up and down is not", () => {
    expect(trendOf(points((at) => 1000 + 10 * at + 100 * wave(at))).isFlat).toBe(false);
    expect(trendOf(points((at) => 1000 + 10 * at)).isFlat).toBe(false);
  });

  test("that rises by less than 5% is flat", () => {
    expect(trendOf(points((at) => 1000 + at)).isFlat).toBe(true);
  });
});
