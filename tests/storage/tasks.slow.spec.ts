/** The longest task of a page while its storage is read and written, compared with fixed work in the same page. */
import type { Page } from "@playwright/test";
import { expect, flush, fresh, idsOf, NAMESPACE, record, test, visit } from "../support/pages.js";

/** The fixed work: the number of ids that are written as JSON and parsed again, and how often. */
const [IDS, TIMES] = [10_000, 10];
/** After this a page has saved its facts and compacted. */
const MAINTAINED_MS = 2_500;

interface TraceEvent {
  readonly name: string;
  readonly pid: number;
  readonly tid: number;
  /** Processor time (µs), independent of other processes. */
  readonly tdur?: number;
}

/** The longest task of the page's thread while something runs, in ms of a processor's time. */
async function longestTask(page: Page, run: () => Promise<unknown>): Promise<number> {
  const session = await page.context().newCDPSession(page);
  const events: TraceEvent[] = [];
  session.on("Tracing.dataCollected", ({ value }) => events.push(...(value as unknown as TraceEvent[])));
  const ended = new Promise<void>((resolve) => {
    session.on("Tracing.tracingComplete", () => resolve());
  });
  await session.send("Tracing.start", {
    transferMode: "ReportEvents",
    traceConfig: { includedCategories: ["disabled-by-default-devtools.timeline", "blink.user_timing"] },
  });
  await page.evaluate(() => performance.mark(document.title));
  const title = await page.title();
  await run();
  await session.send("Tracing.end");
  await ended;
  await session.detach();
  const own = events.find(({ name }) => name === title);
  const tasks = events.filter(({ name, pid, tid }) => name === "RunTask" && pid === own?.pid && tid === own.tid);
  return Math.max(...tasks.map(({ tdur = 0 }) => tdur / 1000));
}

test("no task of a page with 10,000 stored and 5,000 pending is longer than reading 100,000 ids as JSON", async ({
  context,
  site,
}) => {
  const before = await visit(await context.newPage(), site);
  await before.evaluate(() => {
    window.stopReport = window.guard.report({ send: () => Promise.resolve() });
  });
  await record(before, idsOf("delivered", 5_000));
  await before.evaluate(async () => {
    await window.guard.flush();
    window.stopReport();
  });
  for (let part = 0; part < 5; part++) {
    await record(before, idsOf("pending", 1_000, 1_000 * part));
    await flush(before);
  }
  await before.close();

  // The engine is loaded already.
  const page = await visit(await context.newPage(), site, { namespace: "another" });
  await page.evaluate(() => (document.title = "the measured page"));
  const other = await visit(await context.newPage(), site);
  const fixed = await longestTask(page, () =>
    page.evaluate(
      ([ids, times]) => {
        for (let time = 0; time < times; time++) JSON.parse(JSON.stringify(ids));
      },
      [idsOf("fixed", IDS), TIMES] as const,
    ),
  );
  const longest = {
    opening: await longestTask(page, () =>
      page.evaluate(async (namespace) => {
        window.guard = await Seenguard.SeenGuard.open({ namespace });
      }, NAMESPACE),
    ),
    settling: await longestTask(page, async () => {
      await page.waitForTimeout(MAINTAINED_MS);
      for (const id of idsOf("one more", 20)) {
        await record(page, [id]);
        await flush(page);
      }
    }),
    hearing: await longestTask(page, async () => {
      await record(other, idsOf("of another", 1_000));
      await expect.poll(() => fresh(page, ["of another-999"])).toEqual([]);
    }),
    hiding: await longestTask(page, async () => {
      await page.evaluate(
        (ids) => {
          window.guard.record(ids);
          dispatchEvent(new Event("pagehide"));
        },
        idsOf("as it hides", 1_000),
      );
      await flush(page);
    }),
  };
  console.log(`longest tasks (ms of a processor): ${JSON.stringify({ fixed, ...longest })}`);
  for (const ms of Object.values(longest)) expect(ms).toBeLessThan(fixed);
});
