/**
 * Callbacks that call back into the guard in the midst of a call: functions `id`, iterators, `onLag`, `onError` and the
 * transport of a report. What they do happens before the call that they interrupt, or after what has called them.
 */
import fc from "fast-check";
import type { Report } from "seenguard";
import { ShardChain } from "seenguard/server";
import { openTestGuard } from "seenguard/testing";
import { afterAll, beforeAll, expect, vi } from "vitest";
import { ENGINE, fallback, NOW, ON_ENGINE } from "../../support/node.js";
import { POOL } from "./items.js";
import { FeedModel, GuardModel } from "./model.js";
import { interrupt, meanwhile, noteFailure, operation, perform, type KnownSnapshot, type Scene } from "./operations.js";
import { runPrograms } from "./programs.js";

let snapshots: readonly KnownSnapshot[];

beforeAll(async () => {
  const contents = [[], POOL.slice(0, 5), POOL.slice(3, 12), POOL];
  snapshots = await Promise.all(
    contents.map(async (ids) => {
      const chain = await ShardChain.create();
      chain.record(ids, { now: NOW });
      const contains = new Set(POOL.filter((id) => chain.has(id, { now: NOW })).map(String));
      const { version: _, ...snapshot } = chain.snapshot({ now: NOW });
      return { snapshot, contains };
    }),
  );
  // Retries are due when the program says so, each time that it is run.
  vi.spyOn(Math, "random").mockReturnValue(0.5);
});
afterAll(() => {
  vi.restoreAllMocks();
});

/** A scene whose report delivers on demand. */
interface ReportingScene extends Scene {
  send: (report: Report) => Promise<void>;
}

async function openScene(): Promise<ReportingScene> {
  const scene: { current?: ReportingScene } = {};
  const guard = await openTestGuard({
    ...{ now: NOW * 1000, fallback, ...ON_ENGINE },
    onLag: (_, id) => scene.current?.onLag(id),
    onError: () => scene.current?.onError(),
  });
  const model = new GuardModel(NOW * 1000);
  const callbacks = { onLag: () => {}, onError: () => {}, send: () => Promise.resolve(), failures: [] };
  scene.current = { guard, model, feed: guard.feed(), feedModel: new FeedModel(model), snapshots, ...callbacks };
  const { current } = scene;
  current.send = (report) => Promise.resolve(void deliver(current, report));
  guard.report({ url: "/seen", intervalMs: 2 ** 31 - 1, send: (report) => current.send(report) });
  return current;
}

/** Checks what a request carries. Returns its ids. */
function deliver(scene: Scene, { impressions, unseen = [] }: Report): string[] {
  noteFailure(scene, () => {
    for (const { id } of impressions) expect(scene.model.deliver(id, true), `${id} was shown`).toBe(true);
    for (const { id } of unseen) expect(scene.model.deliver(id, false), `${id} became unseen`).toBe(true);
  });
  return [...impressions, ...unseen].map(({ id }) => id);
}

/** Delivers what is pending. The first request calls back, and may fail. */
const delivery = fc.record({ fails: fc.boolean(), meanwhile }).map(({ fails, meanwhile }) => ({
  check: () => true,
  async run(_: object, scene: ReportingScene) {
    const { guard, model, send } = scene;
    const onSend = interrupt(scene, meanwhile);
    let delivered = 0;
    let failures = 0;
    scene.send = async (report) => {
      const ids = deliver(scene, report);
      onSend();
      await Promise.resolve();
      if (fails && failures++ === 0) {
        model.deliverAgain(ids);
        throw new Error("the server does not answer");
      }
      delivered += ids.length;
    };
    const answer = await guard.deliver();
    scene.send = send;
    if (scene.failures.length > 0) throw scene.failures[0];
    expect(answer).toEqual({ delivered, left: model.left });
    if (failures === 0) expect(model.left).toBe(0);
  },
  toString: () => fc.stringify({ do: "deliver", fails, meanwhile }),
}));

const step = operation.map((operation) => ({
  check: () => true,
  run: async (_: object, scene: ReportingScene) => {
    perform(scene, operation);
    await Promise.resolve();
    if (scene.failures.length > 0) throw scene.failures[0];
  },
  toString: () => fc.stringify(operation),
}));

runPrograms("re-entrant callbacks", () =>
  fc.asyncProperty(fc.commands([step, step, step, delivery], { maxCommands: 24 }), async (program) => {
    const scene = await openScene();
    try {
      await fc.asyncModelRun(() => ({ model: {}, real: scene }), program);
      perform(scene, { do: "compare" });
      expect(scene.guard.stats().engine).toBe(ENGINE);
    } finally {
      await scene.guard.close();
    }
  }),
);
