/**
 * Several pages of one reader over one storage, in every order that a storage may choose: nothing that was recorded is
 * lost.
 */
import type { SeenGuard } from "seenguard";
import { describe, expect, test } from "vitest";
import { GatedStorage, idsOf, MapStorage, openGuard, openPage, Random, settled, uniqueNamespace } from "./support.js";

/**
 * A page that gives a storage ten minutes where the package gives it seconds: here answers wait for the test, which a
 * busy machine may hold up for longer.
 */
function patientPage() {
  return openPage(`{
    const start = setTimeout;
    globalThis.setTimeout = (run, ms, ...more) => start(run, ms < 2_000 ? ms : 600_000, ...more);
  }`).seenguard;
}

/** Which of these ids a page does not stop that opens when all others are gone. */
async function lost(gated: GatedStorage, namespace: string, ids: readonly string[]): Promise<string[]> {
  const storage = new MapStorage();
  for (const [key, value] of gated.values) storage.values.set(key, value);
  const { guard } = await openGuard({ storage, namespace }, patientPage());
  const fresh = guard.filter(ids);
  await guard.close();
  return fresh;
}

/** Opens a guard in a page of its own over a gated storage, all doors open meanwhile. */
async function openGated(gated: GatedStorage, namespace: string, page: string): Promise<SeenGuard> {
  const opening = openGuard({ storage: gated.face(page), namespace }, patientPage());
  await gated.releaseUntil(opening);
  return (await opening).guard;
}

describe("two pages", () => {
  test("that record at the same time keep the impressions of both, whichever closes first", async () => {
    for (const first of [0, 1]) {
      const [gated, namespace] = [new GatedStorage(), uniqueNamespace()];
      const pages = [await openGated(gated, namespace, "a"), await openGated(gated, namespace, "b")];
      const ids: string[] = [];
      for (let round = 0; round < 30; round++) {
        pages.forEach((guard, page) => {
          const id = `${String(page)}-${String(round)}`;
          guard.record(id);
          ids.push(id);
        });
        await settled();
        if (gated.waiting.length > 0) await gated.release();
      }
      await gated.releaseUntil(pages[first]?.close() ?? Promise.reject(new Error("no such page")));
      await gated.releaseUntil(pages[1 - first]?.close() ?? Promise.reject(new Error("no such page")));
      expect(await lost(gated, namespace, ids)).toEqual([]);
    }
  });

  test("one of which never closes keep the impressions of both", async () => {
    const [gated, namespace] = [new GatedStorage(), uniqueNamespace()];
    const crashed = await openGated(gated, namespace, "crashed");
    crashed.record(["a", "b"]);
    await gated.releaseUntil(crashed.flush());
    const next = await openGated(gated, namespace, "next");
    expect(next.filter(["a", "b", "c"])).toEqual(["c"]);
    next.record("c");
    crashed.record("d");
    await gated.releaseUntil(Promise.all([next.close(), crashed.flush()]));
    expect(await lost(gated, namespace, ["a", "b", "c", "d"])).toEqual([]);
  });

  test("that open at the same moment both stop stored ids, though the first compacts them while the second reads", async () => {
    const [gated, namespace] = [new GatedStorage(), uniqueNamespace()];
    const earlier = await openGated(gated, namespace, "earlier");
    const ids = idsOf("a", 16);
    const rows = () => [...gated.values.keys()].filter((key) => key.includes("/r/"));
    for (const [count, id] of ids.entries()) {
      earlier.record(id);
      await settled();
      while (rows().length <= count) await gated.release();
    }

    const opening = openGuard({ storage: gated.face("second"), namespace }, patientPage());
    // The second knows the keys and is about to read them.
    await gated.releaseUpTo("second", ({ operation, key }) => operation === "get" && key.includes("/r/"));
    const listed = rows();
    const first = openGuard({ storage: gated.face("first"), namespace }, patientPage());
    await gated.releaseUntil(first, { page: "first" });
    await gated.releaseUntil((await first).guard.flush(), { page: "first" });
    expect((await first).guard.filter(ids)).toEqual([]);
    expect(listed.filter((key) => !rows().includes(key)).length).toBeGreaterThan(8);

    await gated.releaseUntil(opening);
    expect((await opening).guard.filter([...ids, "b"])).toEqual(["b"]);
  });

  test("of which one takes over while the other still writes lose nothing", async () => {
    const [gated, namespace] = [new GatedStorage(), uniqueNamespace()];
    const writing = await openGated(gated, namespace, "writing");
    for (let round = 0; round < 20; round++) {
      writing.record(`before-${String(round)}`);
      await gated.releaseUntil(writing.flush());
    }
    writing.record("late");
    // Its write is on the way, and arrives when the other has taken over and removed what it read.
    await gated.releaseUpTo("writing", ({ operation }) => operation === "set");
    const opening = openGuard({ storage: gated.face("opening"), namespace }, patientPage());
    await gated.releaseUntil(opening, { page: "opening" });
    await gated.releaseUntil((await opening).guard.flush(), { page: "opening" });
    await gated.releaseUntil((await opening).guard.close());
    await gated.releaseUntil(writing.close());
    const ids = [...Array.from({ length: 20 }, (_, round) => `before-${String(round)}`), "late"];
    expect(await lost(gated, namespace, ids)).toEqual([]);
  });
});

describe("pages that open, record, crash and close in a random order over a storage that answers in a random order", () => {
  for (let seed = 1; seed <= 20; seed++) {
    test(`i6: lose no written row, and repeat to no page an id that it recorded itself: seed ${String(seed)}`, async () => {
      const random = new Random(seed);
      const [gated, namespace] = [new GatedStorage(), uniqueNamespace()];
      const open: { guard: SeenGuard; page: string; recorded: string[]; flushed: string[] }[] = [];
      const kept: string[] = [];
      const work: Promise<unknown>[] = [];
      let pages = 0;
      let items = 0;

      const begin = () => {
        const page = `page-${String(pages++)}`;
        const opening = openGuard({ storage: gated.face(page), namespace }, patientPage());
        work.push(opening.then(({ guard }) => open.push({ guard, page, recorded: [], flushed: [] })));
      };
      const take = () => open.splice(random.below(open.length), 1)[0];
      const steps: readonly (() => void)[] = [
        begin,
        () => {
          if (open.length === 0) return;
          const { guard, recorded } = random.pick(open);
          for (let more = random.below(4); more >= 0; more--) {
            const id = `item-${String(items++)}`;
            guard.record(id);
            recorded.push(id);
          }
        },
        () => {
          if (open.length === 0) return;
          const one = random.pick(open);
          const now = one.recorded.slice();
          work.push(one.guard.flush().then(() => (one.flushed = now)));
        },
        () => {
          const closing = open.length > 1 ? take() : undefined;
          if (closing) work.push(closing.guard.close().then(() => kept.push(...closing.recorded)));
        },
        () => {
          // The page is gone with all that it has not written; what it had asked for may happen still.
          const crashed = open.length > 1 && random.below(4) === 0 ? take() : undefined;
          if (crashed) kept.push(...crashed.flushed);
        },
      ];

      begin();
      for (let step = 0; step < 120; step++) {
        random.pick(steps)();
        for (let more = random.below(4); more > 0; more--) {
          await settled();
          if (gated.waiting.length > 0) await gated.release(random.below(gated.waiting.length));
        }
        for (const { guard, recorded } of open) expect(guard.filter(recorded)).toEqual([]);
      }
      await gated.releaseUntil(Promise.all(work), { pick: (count) => random.below(count) });
      for (const { guard, recorded } of open) {
        await gated.releaseUntil(guard.close(), { pick: (count) => random.below(count) });
        kept.push(...recorded);
      }
      // How many depends on how quickly pages open.
      expect(kept.length).toBeGreaterThan(0);
      expect(await lost(gated, namespace, kept)).toEqual([]);
      expect(gated.values.size).toBeLessThanOrEqual(32);
    });
  }
});
