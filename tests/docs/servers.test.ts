/**
 * The servers in the documentation, unchanged: Express over a real Redis, Hono in workerd. A device pages through their
 * feeds while its impressions arrive.
 */
import { build } from "esbuild";
import { Miniflare, type ModuleDefinition } from "miniflare";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { basename } from "node:path";
import type { FeedPage, PageRequest } from "seenguard";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { freePort } from "../../scripts/lib/processes.mjs";
import { startRedis, type RunningRedis } from "../support/processes.ts";
import { examplesOf, root, writeExample } from "./examples.ts";
import { idsOf, openGuard } from "../support/node.js";

interface Article {
  readonly id: string;
}
interface Server {
  readonly url: string;
  stop(): Promise<unknown>;
}

const MAX_LINES = 40;
const SOON = { timeout: 30_000, interval: 50 };
let redis: RunningRedis;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

const servers: [kind: string, startServer: (file: string) => Promise<Server>][] = [
  ["js express", startProcess],
  ["js hono", startWorker],
];

describe.each(servers)("the server %s", (kind, startServer) => {
  let server: Server;
  beforeAll(async () => {
    const [example] = examplesOf(kind);
    if (example === undefined) throw new Error(`the documentation has no server ${kind}`);
    expect(example.code.split("\n").length).toBeLessThan(MAX_LINES);
    await redis.client.flushall();
    server = await startServer(writeExample(example));
  });
  afterAll(() => server.stop());

  const post = (user: string, body: unknown, contentType = "application/json") =>
    fetch(`${server.url}/api/feed/seen`, {
      method: "POST",
      headers: { "X-User": user, "Content-Type": contentType },
      body: JSON.stringify(body),
    });
  const reportOf = (user: string, ids: readonly string[]) => ({
    namespace: `home:${user}`,
    now: Date.now(),
    impressions: ids.map((id) => ({ id, at: Date.now() })),
  });
  const page = async (user: string, { cursor = "", headers = {} }: Partial<PageRequest> = {}) => {
    const response = await fetch(`${server.url}/api/feed?cursor=${cursor}`, {
      headers: { "X-User": user, ...headers },
    });
    expect(response.status).toBe(200);
    expect(response.headers.get("cache-control")).toBe("private, no-store");
    return (await response.json()) as FeedPage<Article> & { items: Article[] };
  };
  const idsIn = ({ items }: { items: readonly Article[] }) => items.map(({ id }) => id);

  test.each([
    ["at once", 1],
    ["late", 0],
    ["now and then", 0.5],
  ])("gives fill every item once, in order, where impressions arrive %s", async (when, share) => {
    const user = `reader-${when.replaceAll(" ", "-")}`;
    const { guard } = await openGuard({ namespace: `home:${user}` });
    const requested: unknown[] = [];
    let shown: string[] = [];
    const fetchPage = async (request: PageRequest) => {
      requested.push(request.cursor);
      // The items of the page before were seen meanwhile.
      const arriving = shown.filter((_, index) => index < share * shown.length);
      if (arriving.length > 0) expect((await post(user, reportOf(user, arriving))).status).toBe(204);
      guard.record(shown);
      const answer = await page(user, request);
      shown = idsIn(answer);
      return answer;
    };
    const filled = await guard.feed().fill(fetchPage, 100, { maxPages: 50 });
    expect(idsIn(filled)).toEqual(idsOf("article", 100));
    expect(filled.end).toBe("filled");
    expect(requested).toHaveLength(10);
    expect(new Set(requested).size).toBe(requested.length);
  });

  test("leaves out reported and pending items", async () => {
    const { guard } = await openGuard({ namespace: "home:ada" });
    const before = await page("ada");
    expect((await post("ada", reportOf("ada", idsIn(before).slice(0, 5)))).status).toBe(204);
    guard.record(idsIn(before).slice(5));
    const after = await page("ada", { headers: guard.headers() });
    expect(idsIn(after)).toEqual(idsOf("article", 10, 10));
    guard.apply(after.snapshot);
    const { snapshot } = await page("ada", { headers: guard.headers() });
    expect(snapshot?.shards).toEqual([expect.stringMatching(/^~/)]);
  });

  test("refuses a report of another person's page under this session", async () => {
    expect((await post("eve", reportOf("ada", ["article-0"]))).status).toBe(409);
    expect(idsIn(await page("eve"))[0]).toBe("article-0");
  });

  test("answers a body that is not a report with 400", async () => {
    for (const body of [{}, { namespace: "home:ada", now: 1 }, []]) expect((await post("ada", body)).status).toBe(400);
  });
});

async function startProcess(file: string): Promise<Server> {
  const port = String(await freePort());
  const env = { ...process.env, PORT: port, REDIS_URL: redis.url };
  const child = spawn(process.execPath, [file], { cwd: root, env, stdio: ["ignore", "ignore", "inherit"] });
  const ended = once(child, "exit");
  const url = `http://127.0.0.1:${port}`;
  await vi.waitFor(() => fetch(url), SOON);
  return { url, stop: () => (child.kill(), ended) };
}

/** Bundles it like a platform at the edge: a Wasm file stays a module of its own. */
async function startWorker(file: string): Promise<Server> {
  const { outputFiles } = await build({
    entryPoints: [file],
    bundle: true,
    write: false,
    format: "esm",
    conditions: ["workerd", "worker"],
    loader: { ".wasm": "copy" },
    outdir: root,
  });
  const modules = outputFiles.map(({ path, contents, text }): ModuleDefinition =>
    path.endsWith(".wasm")
      ? { type: "CompiledWasm", path: basename(path), contents: Uint8Array.from(contents) }
      : { type: "ESModule", path: basename(path), contents: text },
  );
  // The first module is the entry.
  modules.sort((a, b) => b.type.localeCompare(a.type));
  const worker = new Miniflare({ compatibilityDate: "2025-01-01", modules });
  const url = (await worker.ready).href.replace(/\/$/, "");
  return { url, stop: () => worker.dispose() };
}
