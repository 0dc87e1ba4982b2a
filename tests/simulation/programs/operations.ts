/** Makes the same calls on a guard and on its model, and compares the results. */
import fc from "fast-check";
import type { Feed, ItemId, SeenGuard, Snapshot } from "seenguard";
import { expect } from "vitest";
import {
  anyItems,
  buildList,
  listOf,
  POOL,
  poolId,
  singleItems,
  type KnownList,
  type ListDescription,
} from "./items.js";
import { FeedModel, type GuardModel } from "./model.js";
import { countCommands } from "./programs.js";

/** A snapshot that servers ship, and which ids of the pool it contains. */
export interface KnownSnapshot {
  readonly snapshot: Snapshot;
  readonly contains: ReadonlySet<string>;
}

export interface Scene {
  readonly guard: SeenGuard & { advance(ms: number): void };
  readonly model: GuardModel;
  readonly feed: Feed;
  readonly feedModel: FeedModel;
  readonly snapshots: readonly KnownSnapshot[];
  /** Runs in the guard's `onLag`. */
  onLag: (id: string) => void;
  /** Runs in the guard's `onError`. */
  onError: () => void;
  /** Failures of checks in callbacks. */
  readonly failures: unknown[];
}

/** Operations that are done inside another call, when its callback is called for the n-th time. */
interface Interruption {
  readonly at: number;
  readonly operations: readonly Operation[];
}

/** Data, so that programs can be printed and shrunk. */
export type Operation =
  | { readonly do: "record" | "unsee"; readonly ids: readonly ItemId[] }
  | { readonly do: "record each" | "unsee each"; readonly ids: readonly ItemId[]; readonly meanwhile: Interruption }
  | { readonly do: ListMethod; readonly list: ListDescription }
  | { readonly do: ListMethod; readonly list: ListDescription; readonly meanwhile: Interruption }
  | { readonly do: "apply"; readonly snapshot: number; readonly version: number | undefined }
  | {
      readonly do: "apply and be called";
      readonly snapshot: number;
      readonly version: number | undefined;
      readonly meanwhile: Interruption;
    }
  | { readonly do: "apply what is none"; readonly meanwhile: Interruption }
  | { readonly do: "reset" | "compare" }
  | { readonly do: "advance"; readonly ms: number };

type ListMethod = "filter" | "split" | "Feed.filter" | "Feed.admit";

const ids = fc.array(poolId, { maxLength: 5 });
const snapshot = { snapshot: fc.nat({ max: 3 }), version: fc.option(fc.nat({ max: 5 }), { nil: undefined }) };
const listMethod = fc.constantFrom<ListMethod>("filter", "split", "Feed.filter", "Feed.admit");

function listOperation(method: ListMethod): fc.Arbitrary<ListDescription> {
  return listOf(method === "filter" || method === "split" ? anyItems : singleItems);
}

/** Operations that nothing interrupts. */
const plain: fc.Arbitrary<Operation> = fc.oneof(
  fc.record({ do: fc.constantFrom("record" as const, "unsee" as const), ids }),
  listMethod.chain((method) => fc.record({ do: fc.constant(method), list: listOperation(method) })),
  fc.record({ do: fc.constant("apply" as const), ...snapshot }),
  fc.record({ do: fc.constantFrom("reset" as const, "compare" as const) }),
  fc.record({ do: fc.constant("advance" as const), ms: fc.nat({ max: 2000 }) }),
);

export const meanwhile: fc.Arbitrary<Interruption> = fc.record({
  at: fc.nat({ max: 4 }),
  operations: fc.array(plain, { minLength: 1, maxLength: 3 }),
});

/** Operations whose callbacks call back into the guard. */
const interrupted: fc.Arbitrary<Operation> = fc.oneof(
  fc.record({ do: fc.constantFrom("record each" as const, "unsee each" as const), ids, meanwhile }),
  listMethod.chain((method) => fc.record({ do: fc.constant(method), list: listOperation(method), meanwhile })),
  fc.record({ do: fc.constant("apply and be called" as const), ...snapshot, meanwhile }),
  fc.record({ do: fc.constant("apply what is none" as const), meanwhile }),
);

export const operation: fc.Arbitrary<Operation> = fc.oneof(plain, interrupted);

/** Returns a callback that does the operations when it is called for the n-th time. */
export function interrupt(scene: Scene, { at, operations }: Interruption): () => void {
  let calls = 0;
  return () => {
    if (calls++ === at) for (const each of operations) noteFailure(scene, () => perform(scene, each));
  };
}

/** Runs a check in a callback of the package, which continues whatever its callbacks throw. */
export function noteFailure(scene: Scene, check: () => void): void {
  try {
    check();
  } catch (error) {
    scene.failures.push(error);
  }
}

/** Performs an operation on both, and compares the results. */
export function perform(scene: Scene, operation: Operation): void {
  countCommands();
  const { guard, model } = scene;
  switch (operation.do) {
    case "record":
    case "unsee":
      expect(guard[operation.do](operation.ids)).toBe(model[operation.do](operation.ids.map(String)));
      return;
    case "record each":
    case "unsee each":
      performEach(scene, operation.do === "record each" ? "record" : "unsee", operation);
      return;
    case "apply":
      apply(scene, operation);
      return;
    case "apply and be called":
      apply(scene, operation, interrupt(scene, operation.meanwhile));
      return;
    case "apply what is none":
      applyNone(scene, interrupt(scene, operation.meanwhile));
      return;
    case "reset":
      scene.feed.reset();
      scene.feedModel.reset();
      return;
    case "compare":
      compareState(scene);
      return;
    case "advance":
      guard.advance(operation.ms);
      model.nowMs += operation.ms;
      return;
    default:
      decide(scene, operation.do, operation.list, "meanwhile" in operation ? operation.meanwhile : undefined);
  }
}

/** The ids come from an iterator that calls back. What it does comes first. */
function performEach(
  scene: Scene,
  method: "record" | "unsee",
  { ids, meanwhile }: { readonly ids: readonly ItemId[]; readonly meanwhile: Interruption },
): void {
  const onNext = interrupt(scene, meanwhile);
  const each = function* () {
    for (const id of ids) {
      onNext();
      yield id;
    }
  };
  const actual = scene.guard[method](each());
  expect(actual).toBe(scene.model[method](ids.map(String)));
}

/** A list is decided. The function `id`, if it calls back, does so before anything is decided. */
function decide(scene: Scene, method: ListMethod, description: ListDescription, meanwhile?: Interruption): void {
  const known = buildList(description);
  const { list } = known;
  const given: [never[]] | [never[], () => never] = meanwhile
    ? [list, calledIds(known, interrupt(scene, meanwhile))]
    : [list];
  const { guard, model, feed, feedModel } = scene;
  const { values, ids } = known;
  const itemsAt = (indices: readonly number[]) => indices.map((index) => values[index]);
  if (method === "split") {
    const actual = (guard.split as (...given: unknown[]) => { fresh: unknown[]; seen: unknown[] })(...given);
    const { fresh, seen } = model.split(ids);
    assertSame(actual.fresh, itemsAt(fresh));
    assertSame(actual.seen, itemsAt(seen));
    return;
  }
  const call = {
    filter: guard.filter.bind(guard),
    "Feed.filter": feed.filter.bind(feed),
    "Feed.admit": feed.admit.bind(feed),
  }[method];
  const actual = (call as (...given: unknown[]) => unknown[])(...given);
  const answer = {
    filter: () => model.split(ids).fresh,
    "Feed.filter": () => feedModel.filter(ids),
    "Feed.admit": () => feedModel.admit(ids),
  }[method];
  assertSame(actual, itemsAt(answer()));
}

/** Each item's ids in turn, with a call before each. */
function calledIds({ raw }: KnownList, onCall: () => void): () => never {
  let index = 0;
  return () => {
    const own = raw[index++] ?? [];
    onCall();
    return (own.length === 1 ? own[0] : own) as never;
  };
}

/** Expects the same objects. Some items cannot be printed, or compared otherwise. */
function assertSame(actual: readonly unknown[], expected: readonly unknown[]): void {
  const indices = (list: readonly unknown[]) =>
    list.map((each) => expected.findIndex((other) => Object.is(each, other)));
  expect(indices(actual)).toEqual(indices(expected));
}

/** A snapshot is applied. `onLag`, if it calls back, does so when the snapshot is in use. */
function apply(
  scene: Scene,
  { snapshot, version }: { readonly snapshot: number; readonly version: number | undefined },
  onCall = () => {},
): void {
  const known = scene.snapshots[snapshot % scene.snapshots.length];
  if (!known) throw new Error("there are no snapshots");
  const lags: string[] = [];
  let covered: string[] | undefined;
  let isApplied = false;
  const applyToModel = () => {
    if (!isApplied) covered = scene.model.apply(known.contains, version);
    isApplied = true;
  };
  const { onLag } = scene;
  scene.onLag = (id) => {
    applyToModel();
    lags.push(id);
    onCall();
  };
  const report = scene.guard.apply({ ...known.snapshot, ...(version !== undefined && { version }) });
  scene.onLag = onLag;
  applyToModel();
  expect(lags).toEqual(covered ?? []);
  const length = lags.length;
  expect(report).toMatchObject(
    covered ? { applied: true, covered: length } : { applied: false, reason: "older-version" },
  );
}

/** What is not a snapshot changes nothing, and `onError` is called. */
function applyNone(scene: Scene, onCall: () => void): void {
  const { onError } = scene;
  scene.onError = onCall;
  expect(scene.guard.apply({ shards: ["no shard"] })).toMatchObject({ applied: false, reason: "invalid" });
  scene.onError = onError;
}

/** Compares everything that a guard reports. */
function compareState({ guard, model }: Scene): void {
  for (const id of POOL) {
    const why = model.why(String(id));
    const explanation = guard.explain(id);
    expect(explanation.seen ? explanation.by : undefined).toBe(why);
  }
  expect(guard.pending()).toEqual(model.pending());
  const { version, remembered } = model;
  expect(guard.stats()).toMatchObject({ version, pending: model.pending().length, remembered });
}
