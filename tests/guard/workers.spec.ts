/** Workers of a page: the guard works as in a page, and both share one person's impressions. */
import { fileURLToPath } from "node:url";
import fastifyStatic from "@fastify/static";
import type { Page, Worker } from "@playwright/test";
import fastify, { type FastifyInstance } from "fastify";
import type { GuardStats } from "seenguard";
import { expect, fresh, NAMESPACE, openGuard, record, test as base } from "../support/chromium.js";

/** The scope of a worker whose script has loaded the package. */
interface Scope {
  readonly Seenguard: typeof import("seenguard");
}

const scripts = {
  "/classic.js": 'importScripts("/dist/seenguard.iife.js");',
  "/module.js": 'import * as Seenguard from "/dist/index.js"; self.Seenguard = Seenguard;',
} as const;

/** Serves the built package without a bundler. Requests of service workers are not routed, so it is a real server. */
const test = base.extend<{ site: string }>({
  site: async ({}, use) => {
    const server: FastifyInstance = fastify();
    const root = fileURLToPath(new URL("../../dist", import.meta.url));
    await server.register(fastifyStatic, { root, prefix: "/dist/" });
    server.get("/", (_, reply) =>
      reply.type("text/html").send('<!doctype html><script src="/dist/seenguard.iife.js"></script>'),
    );
    for (const [path, script] of Object.entries(scripts))
      server.get(path, (_, reply) => reply.type("text/javascript").send(script));
    await use(await server.listen({ port: 0, host: "127.0.0.1" }));
    await server.close();
  },
});

async function startServiceWorker(page: Page, path: string, type: WorkerType): Promise<Worker> {
  await page.evaluate(
    async ([script, options]) => {
      await navigator.serviceWorker.register(script, options);
      await navigator.serviceWorker.ready;
    },
    [path, { type }] as const,
  );
  const [worker] = page.context().serviceWorkers();
  if (!worker) throw new Error("the service worker does not run");
  return worker;
}

async function startWorker(page: Page, path: string, type: WorkerType): Promise<Worker> {
  const started = page.waitForEvent("worker");
  await page.evaluate(
    ([script, options]) => {
      new Worker(script, options);
    },
    [path, { type }] as const,
  );
  const worker = await started;
  // Its script may still be loading.
  await expect.poll(() => worker.evaluate("typeof Seenguard")).toBe("object");
  return worker;
}

interface Visit {
  readonly fresh: string[];
  readonly errors: string[];
  readonly stats: GuardStats;
}

/** Opens a guard in the worker with the defaults, filters, records, and closes it. */
function visit(worker: Worker, candidates: string[], seen: string[]): Promise<Visit> {
  return worker.evaluate(
    async ([namespace, page, shown]) => {
      const { SeenGuard } = (globalThis as unknown as Scope).Seenguard;
      const errors: string[] = [];
      const guard = await SeenGuard.open({ namespace, onError: (error) => errors.push(String(error)) });
      guard.report({ url: "/seen" })();
      const passed = guard.filter(page);
      guard.record(shown);
      const stats = guard.stats();
      await guard.close();
      return { fresh: passed, errors, stats };
    },
    [NAMESPACE, candidates, seen] as const,
  );
}

for (const { name, start } of [
  { name: "a classic service worker", start: (page: Page) => startServiceWorker(page, "/classic.js", "classic") },
  { name: "a module service worker", start: (page: Page) => startServiceWorker(page, "/module.js", "module") },
  { name: "a classic worker", start: (page: Page) => startWorker(page, "/classic.js", "classic") },
  { name: "a module worker", start: (page: Page) => startWorker(page, "/module.js", "module") },
]) {
  test(`${name} uses the default storage, and shares impressions with a page`, async ({ page, site }) => {
    await page.goto(site);
    const worker = await start(page);
    const first = await visit(worker, ["a", "b", "c"], ["a"]);
    expect(first.fresh).toEqual(["a", "b", "c"]);
    expect(first.stats).toMatchObject({ engine: "wasm", storage: "indexeddb", pending: 1 });
    await openGuard(page);
    expect(await fresh(page, ["a", "b", "c"])).toEqual(["b", "c"]);
    await record(page, ["b"]);
    const second = await visit(worker, ["a", "b", "c"], []);
    expect(second.fresh).toEqual(["c"]);
    expect([...first.errors, ...second.errors]).toEqual([]);
  });
}

test("i6: a worker, which receives no signals, has a page's impressions within ten seconds", async ({ page, site }) => {
  await page.goto(site);
  const worker = await startWorker(page, "/module.js", "module");
  await worker.evaluate(async (namespace) => {
    const { Seenguard } = globalThis as unknown as Scope;
    Object.assign(globalThis, { guard: await Seenguard.SeenGuard.open({ namespace }) });
  }, NAMESPACE);
  const passes = () => worker.evaluate(() => (globalThis as unknown as Window).guard.filter(["a", "b", "new"]));
  await openGuard(page);
  await record(page, ["a", "b"]);
  await expect.poll(passes, { timeout: 15_000 }).toEqual(["new"]);
  // And the page has the worker's.
  await worker.evaluate(() => {
    (globalThis as unknown as Window).guard.record("of the worker");
  });
  await expect.poll(() => fresh(page, ["of the worker", "new"]), { timeout: 15_000 }).toEqual(["new"]);
});
