/** Chromium of the system, with a real local server. */
import { readFile } from "node:fs/promises";
import { chromium, type Browser, type Page } from "@playwright/test";
import fastify, { type FastifyInstance } from "fastify";
import { inProject } from "../../../scripts/lib/paths.mjs";
import { chromiumArguments, programs } from "../../../scripts/lib/programs.mjs";
import type { Outcome } from "../workloads.ts";
import { type BenchFiles, type Place, print, type Steps, type StoredImpressions } from "./place.ts";

/**
 * A new window starts pages of Chromium's own, and a process for the next page. In its first two seconds they take more
 * processor time than a page that imports the package, so the benchmark waits.
 */
const SETTLE_MS = 2000;

export async function chromiumPlace({ suite, seenguard }: BenchFiles): Promise<Place> {
  const server = await serve({
    "/suite.mjs": suite,
    "/cold.mjs": inProject("lab", "benches", "cold.mjs"),
    "/heap.mjs": inProject("lab", "benches", "heap.mjs"),
    "/seenguard.mjs": seenguard,
  });
  const address = await server.listen({ port: 0, host: "127.0.0.1" });
  const browser = await chromium.launch({
    executablePath: programs.chromium.find() ?? "chromium",
    args: [...chromiumArguments],
  });
  return {
    name: "chromium",
    title: `Chromium ${browser.version()}`,
    suite: (effort) =>
      onNewPage(browser, address, async (page) => {
        page.on("console", (message) => {
          if (message.type() === "info") print(`  ${message.text()}`);
        });
        const call = `import("/suite.mjs").then((suite) => suite.runSuite(${JSON.stringify(effort)}, (line) => console.info(line)))`;
        return page.evaluate<Outcome[]>(call);
      }),
    coldStarts: async (messages, ids) => {
      const start = (name: string, args: readonly unknown[], slowdown = 1) =>
        onNewPage(browser, address, async (page) => {
          await page.waitForTimeout(SETTLE_MS);
          const devtools = await page.context().newCDPSession(page);
          await devtools.send("Emulation.setCPUThrottlingRate", { rate: slowdown });
          return page.evaluate<Steps>(`import("/cold.mjs").then((cold) => cold.${name}(...${JSON.stringify(args)}))`);
        });
      return {
        seenguard: await start("startGuard", ["/seenguard.mjs", messages.seenguard, ids]),
        nothing: await start("startNothing", ["/nothing.mjs"]),
        Set: await start("startSet", [messages.Set, ids]),
        "seenguard, processor at a quarter": await start("startGuard", ["/seenguard.mjs", messages.seenguard, ids], 4),
        "nothing, processor at a quarter": await start("startNothing", ["/nothing.mjs"], 4),
      };
    },
    openings: (impressions, times) => openAgain(browser, address, impressions, times),
    heapOf: (ids) =>
      onNewPage(browser, address, async (page) => {
        const devtools = await page.context().newCDPSession(page);
        await page.exposeFunction("heapUsed", async () => {
          await devtools.send("HeapProfiler.collectGarbage");
          return (await devtools.send("Runtime.getHeapUsage")).usedSize;
        });
        const args = JSON.stringify([ids]);
        return page.evaluate<number>(`import("/heap.mjs").then((heap) => heap.heapOf(...${args}, heapUsed))`);
      }),
    close: async () => {
      await browser.close();
      await server.close();
    },
  };
}

/** Measures visits of one reader, whose impressions an earlier visit has stored. */
async function openAgain(
  browser: Browser,
  address: string,
  { ids, message, count }: StoredImpressions,
  times: number,
): Promise<Steps[]> {
  const context = await browser.newContext();
  const visit = async <T>(name: string, args: readonly unknown[], slowdown = 1): Promise<T> => {
    const page = await context.newPage();
    await page.goto(address);
    await page.waitForTimeout(SETTLE_MS);
    const devtools = await context.newCDPSession(page);
    await devtools.send("Emulation.setCPUThrottlingRate", { rate: slowdown });
    const call = `import("/cold.mjs").then((cold) => cold.${name}("/seenguard.mjs", ...${JSON.stringify(args)}))`;
    const result = await page.evaluate<T>(call);
    await page.close();
    return result;
  };
  try {
    await visit("storeImpressions", [message, ids]);
    // The next visit compacts the rows of this one.
    await visit("openBoth", [count, true]);
    const steps: Steps[] = [];
    for (let time = 0; time < times; time++) {
      const opened = await visit<Steps>("openBoth", [count, time % 2 === 0]);
      const namespace = `bench:pending-${String(time)}`;
      await visit("storePending", [namespace, ids]);
      steps.push({ ...opened, ...(await visit<Steps>("longestTask", [namespace, message, ids], 4)) });
    }
    return steps;
  } finally {
    await context.close();
  }
}

/** Opens a page without a cache, compiled code or storage. */
async function onNewPage<T>(browser: Browser, address: string, use: (page: Page) => Promise<T>): Promise<T> {
  const context = await browser.newContext();
  try {
    const page = await context.newPage();
    await page.goto(address);
    return await use(page);
  } finally {
    await context.close();
  }
}

async function serve(files: Readonly<Record<string, string>>): Promise<FastifyInstance> {
  const server = fastify();
  server.addHook("onRequest", (_request, reply, done) => {
    // A cross-origin isolated page has a clock of 5 µs instead of 100 µs.
    reply.header("cross-origin-opener-policy", "same-origin").header("cross-origin-embedder-policy", "require-corp");
    done();
  });
  server.get("/nothing.mjs", (_request, reply) => reply.type("text/javascript").send(""));
  server.get("/", (_request, reply) => reply.type("text/html").send("<!doctype html><title>Benchmarks</title>"));
  for (const [path, file] of Object.entries(files)) {
    const content = await readFile(file);
    server.get(path, (_request, reply) => reply.type("text/javascript").send(content));
  }
  await server.ready();
  return server;
}
