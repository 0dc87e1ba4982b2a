/** Runs the examples for browsers, each on a page in Chromium, with the server of the documentation. */
import { chromium, type Browser, type Page } from "@playwright/test";
import { build } from "esbuild";
import fastify, { type FastifyInstance } from "fastify";
import { ShardChain, type Snapshot } from "seenguard/server";
import { chromiumArguments, programs } from "../../scripts/lib/programs.mjs";
import { root, writeExample, type Example } from "./examples.ts";

/** A page in a browser of its own, and what it printed. */
export interface OpenPage {
  readonly page: Page;
  readonly printed: () => string;
  /** Bodies that were posted to the server, oldest first. */
  readonly posted: readonly { contentType: string; body: unknown }[];
  close(): Promise<void>;
}

const ITEMS_A_PAGE = 12;
/** The item of the first page that the server's store contains. */
export const KNOWN = "article-3";

/** Opens a page with the example on it. `entry`: the module that runs it, which imports `./example`. */
export async function openExample(example: Example, entry = `import "./example";`): Promise<OpenPage> {
  const server = fastify();
  const posted: { contentType: string; body: unknown }[] = [];
  addFeed(server, await knownSnapshot());
  addImpressions(server, posted);
  const script = await bundled(example, entry);
  server.get("/script.js", (_request, reply) => reply.type("text/javascript").send(script));
  server.get("/", (_request, reply) => reply.type("text/html").send(PAGE));
  const address = await server.listen({ port: 0, host: "127.0.0.1" });
  const browser = await chromium.launch({
    executablePath: programs.chromium.find() ?? "chromium",
    args: [...chromiumArguments],
  });
  const { page, printed } = await pageOf(browser, address);
  return {
    page,
    printed,
    posted,
    close: async () => {
      await browser.close();
      await server.close();
    },
  };
}

const PAGE = `<!doctype html>
<html lang="en"><meta charset="utf-8"><link rel="icon" href="data:,"><title>Example</title>
<body data-user="ada"><ol id="feed"></ol><div id="app"></div>
<script type="module" src="/script.js"></script></body></html>`;

async function pageOf(browser: Browser, address: string): Promise<Pick<OpenPage, "page" | "printed">> {
  const page = await browser.newPage();
  const lines: string[] = [];
  page.on("console", (message) => {
    if (!message.text().includes("React DevTools")) lines.push(`${message.text()}\n`);
  });
  page.on("pageerror", (error) => lines.push(`${String(error)}\n`));
  await page.goto(address);
  return { page, printed: () => lines.join("") };
}

async function knownSnapshot(): Promise<Snapshot> {
  const chain = await ShardChain.create();
  chain.record(KNOWN);
  const snapshot = chain.snapshot();
  chain.free();
  return snapshot;
}

/** Offers the same items again and again, like a server whose stream is stopped. */
function addFeed(server: FastifyInstance, snapshot: Snapshot): void {
  server.get<{ Querystring: { page?: string } }>("/api/feed", ({ query: { page = "0" } }) => {
    const first = Number(page) * ITEMS_A_PAGE;
    const items = Array.from({ length: ITEMS_A_PAGE }, (_, index) => {
      const number = String(first + index);
      return { id: `article-${number}`, title: `Article ${number}` };
    });
    return { items, snapshot };
  });
}

function addImpressions(server: FastifyInstance, posted: OpenPage["posted"][number][]): void {
  server.addContentTypeParser("text/plain", { parseAs: "string" }, (_request, body, done) => {
    done(null, JSON.parse(String(body)));
  });
  server.post("/api/feed/seen", ({ headers, body }, reply) => {
    posted.push({ contentType: headers["content-type"] ?? "", body });
    return reply.code(204).send();
  });
}

async function bundled(example: Example, entry: string): Promise<string> {
  const { outputFiles } = await build({
    stdin: { contents: entry.replace("./example", writeExample(example)), resolveDir: root, loader: "tsx" },
    bundle: true,
    format: "esm",
    jsx: "automatic",
    jsxDev: true,
    // React's build for development.
    define: { "process.env.NODE_ENV": '"development"' },
    // An example is run for its side effects, which the package's manifest denies.
    ignoreAnnotations: true,
    logLevel: "silent",
    write: false,
  });
  return outputFiles[0]?.text ?? "";
}
