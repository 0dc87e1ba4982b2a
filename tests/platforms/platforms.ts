/** Every platform that the package is tried on: a row of the table in docs/platforms.md each. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { serve } from "../packaging/chromium.js";
import { expectServed, type ServerOutcome } from "../packaging/scenarios.js";
import {
  expectEndpoint,
  expectOutcomes,
  expectPage,
  PAGE_PARTS,
  readAnswer,
  type Outcomes,
  type Part,
} from "./expectations.js";
import { runScript, startServer } from "./programs.js";

export interface Platform {
  readonly name: string;
  /** A directory in apps/. */
  readonly app: string;
  /** The packages, or "node" or "chromium", whose versions the table shows. */
  readonly tools: readonly string[];
  /** What an app does to use the package; by default the scripts of its package.json. */
  readonly use?: string;
  /** Which parts of an app are tried. */
  readonly tested: string;
  /** What an app has to do beyond installing the package and importing it. */
  readonly needs: string;
  /** @param directory the app, among the others */
  readonly run: (directory: string) => Promise<void>;
}

const NOTHING = "nothing";

/** A page that is built by the app's script "build". */
const bundled = (platform: Omit<Platform, "run" | "tested">, output: string, parts: readonly Part[]): Platform => ({
  ...platform,
  tested: parts === PAGE_PARTS ? "a page" : "a page, a worker",
  run: async (directory) => {
    await runScript(directory, "build");
    await expectPage(await serve(join(directory, output)), { parts });
  },
});

const WITH_WORKER = [...PAGE_PARTS, "worker"] as const;

const bundlers: readonly Platform[] = [
  bundled({ name: "Vite", app: "vite", tools: ["vite"], needs: NOTHING }, "dist", WITH_WORKER),
  bundled({ name: "webpack 5", app: "webpack", tools: ["webpack", "webpack-cli"], needs: NOTHING }, ".", WITH_WORKER),
  bundled(
    {
      name: "Rollup",
      app: "rollup",
      tools: ["rollup"],
      needs: "`@rollup/plugin-node-resolve`, as every package; `output.dir`, since there are chunks",
    },
    ".",
    PAGE_PARTS,
  ),
  bundled(
    {
      name: "esbuild",
      app: "esbuild",
      tools: ["esbuild"],
      needs: "`--splitting`, or the JavaScript engine is in the one file, too",
    },
    ".",
    PAGE_PARTS,
  ),
  bundled({ name: "Parcel", app: "parcel", tools: ["parcel"], needs: NOTHING }, "dist", WITH_WORKER),
  bundled({ name: "rspack", app: "rspack", tools: ["@rspack/core", "@rspack/cli"], needs: NOTHING }, ".", WITH_WORKER),
];

/** Client and server of an app in Next, by one of its two bundlers. */
const next = (bundler: string, build: string): Platform => ({
  name: `Next (${bundler})`,
  app: "next",
  tools: ["next"],
  use: `\`next ${build.replace("build:", "build --")}\`, \`next start\``,
  tested: "server component, client component, route handlers on Node and on the edge runtime",
  needs: NOTHING,
  run: async (directory) => {
    await runScript(directory, build);
    const address = await startServer(directory, "start");
    await expectEndpoint(`${address}/api/node`);
    await expectEndpoint(`${address}/api/edge`);
    await expectPage(address, { server: true });
  },
});

const frameworks: readonly Platform[] = [
  next("Turbopack", "build"),
  next("webpack", "build:webpack"),
  {
    name: "Vite with server rendering",
    app: "vite-ssr",
    tools: ["vite"],
    tested: "the page in the browser, its rendering on the server",
    needs: NOTHING,
    run: async (directory) => {
      await runScript(directory, "build");
      await expectPage(await startServer(directory, "start"), { server: true });
    },
  },
  {
    name: "SvelteKit",
    app: "sveltekit",
    tools: ["@sveltejs/kit", "svelte"],
    tested: "the page in the browser, `load` and an endpoint on the server",
    needs: NOTHING,
    run: async (directory) => {
      await runScript(directory, "build");
      const address = await startServer(directory, "start");
      await expectEndpoint(`${address}/api/node`);
      await expectPage(address, { server: true });
    },
  },
];

/** Tests of an app, by a test runner that the app brings. */
const testRunner = (name: string, app: string, tools: string[], pages: string[]): Platform => ({
  name,
  app,
  tools: [app, ...tools],
  tested: `tests of a server's code, tests of a page's code (${pages.join(", ")})`,
  needs: "nothing; `localStorage` is used, since there is no IndexedDB",
  run: async (directory) => {
    await runScript(directory, "test");
    expectServed(await readAnswer<ServerOutcome>(directory, "server.json"));
    for (const page of pages) {
      expectOutcomes(await readAnswer<Outcomes>(directory, `${page}.json`), { storage: "local" });
    }
  },
});

const testRunners: readonly Platform[] = [
  testRunner("Jest", "jest", ["jest-environment-jsdom"], ["jsdom"]),
  testRunner("Vitest", "vitest", ["jsdom", "happy-dom"], ["jsdom", "happy-dom"]),
];

/** A program that prints what it answers. */
const runtime = (name: string, app: string, tool: string): Platform => ({
  name,
  app,
  tools: [tool],
  tested: "a server's program",
  needs: NOTHING,
  run: async (directory) => expectServed(JSON.parse(await runScript(directory, "start")) as ServerOutcome),
});

const runtimes: readonly Platform[] = [
  runtime("Node", "node", "node"),
  runtime("Bun", "bun", "bun"),
  runtime("Deno", "deno", "deno"),
  {
    name: "workerd",
    app: "workerd",
    tools: ["workerd", "wrangler"],
    tested: "a worker's `fetch`",
    needs: NOTHING,
    run: async (directory) => expectEndpoint(await startServer(directory, "start")),
  },
];

/** A page that runs as it is, from the directory with all apps. */
const unbundled = (
  platform: Omit<Platform, "run" | "tools">,
  page = "index.html",
  parts: readonly Part[] = PAGE_PARTS,
): Platform => ({
  ...platform,
  tools: ["chromium"],
  run: async (directory) => expectPage(`${await serve(join(directory, ".."))}/${platform.app}/${page}`, { parts }),
});

const pages: readonly Platform[] = [
  {
    name: "Script tag, `file://`",
    app: "script-tag",
    tools: ["chromium"],
    use: "`dist/seenguard.iife.js`",
    tested: "a page",
    needs: NOTHING,
    run: async (directory) => expectPage(pathToFileURL(join(directory, "index.html")).href),
  },
  unbundled({
    name: "Module worker",
    app: "module-worker",
    use: "`dist/index.js`",
    tested: "a worker",
    needs: NOTHING,
  }),
  unbundled(
    {
      name: "Service worker, classic",
      app: "service-worker",
      use: "`importScripts` of `dist/seenguard.iife.js`",
      tested: "a service worker",
      needs: NOTHING,
    },
    "?type=classic",
  ),
  unbundled(
    {
      name: "Service worker, module",
      app: "service-worker",
      use: "`dist/index.js`",
      tested: "a service worker",
      needs: "Wasm: a service worker may not `import()` the JavaScript engine",
    },
    "?type=module",
    ["page"],
  ),
  {
    name: "Content security policy without Wasm",
    app: "vite",
    tools: ["vite", "chromium"],
    tested: "a page and a worker with `script-src 'self'`",
    needs: NOTHING,
    run: async (directory) => {
      await runScript(directory, "build");
      const address = await serve(join(directory, "dist"), "script-src 'self'");
      await expectPage(address, { engine: "js", parts: WITH_WORKER });
    },
  },
];

export const platforms: readonly Platform[] = [...bundlers, ...frameworks, ...testRunners, ...runtimes, ...pages];
