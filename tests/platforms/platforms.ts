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
  readonly needs?: string;
  /** @param directory the app, among the others */
  readonly run: (directory: string) => Promise<void>;
}

interface Bundled extends Omit<Platform, "run" | "tested"> {
  /** What a server serves of the app. */
  readonly serves: string;
  readonly parts: readonly Part[];
}

/** A page that is built by the app's script "build". */
const bundled = ({ serves, parts, ...platform }: Bundled): Platform => ({
  ...platform,
  tested: parts === PAGE_PARTS ? "a page" : "a page, a worker",
  run: async (directory) => {
    await runScript(directory, "build");
    await expectPage(await serve(join(directory, serves)), { parts });
  },
});

const WITH_WORKER = [...PAGE_PARTS, "worker"] as const;

const bundlers: readonly Platform[] = [
  bundled({
    name: "Vite",
    app: "vite",
    tools: ["vite"],
    serves: "dist",
    parts: WITH_WORKER,
    needs: '`worker: { format: "es" }`, or a worker has the JavaScript engine in its one file, too',
  }),
  bundled({ name: "webpack 5", app: "webpack", tools: ["webpack", "webpack-cli"], serves: ".", parts: WITH_WORKER }),
  bundled({
    name: "Rollup",
    app: "rollup",
    tools: ["rollup"],
    serves: ".",
    parts: PAGE_PARTS,
    needs: "`@rollup/plugin-node-resolve`, as every package; `output.dir`, since there are chunks",
  }),
  bundled({
    name: "esbuild",
    app: "esbuild",
    tools: ["esbuild"],
    serves: ".",
    parts: PAGE_PARTS,
    needs: "`--splitting`, or the page has the JavaScript engine in its one file, too",
  }),
  bundled({ name: "Parcel", app: "parcel", tools: ["parcel"], serves: "dist", parts: WITH_WORKER }),
  bundled({ name: "rspack", app: "rspack", tools: ["@rspack/core", "@rspack/cli"], serves: ".", parts: WITH_WORKER }),
];

/** Client and server of an app in Next, by one of its two bundlers. */
const next = (bundler: string, build: string): Platform => ({
  name: `Next (${bundler})`,
  app: "next",
  tools: ["next"],
  use: `\`next ${build.replace("build:", "build --")}\`, \`next start\``,
  tested: "server component, client component, route handlers on Node and on the edge runtime",
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
  needs: "`localStorage` is used, since there is no IndexedDB",
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
    run: async (directory) => expectEndpoint(await startServer(directory, "start")),
  },
];

interface Unbundled extends Omit<Platform, "run" | "tools"> {
  /** What comes after the app's address. */
  readonly query?: string;
  readonly parts?: readonly Part[];
}

/** A page that runs as it is, from the directory with all apps. */
const unbundled = ({ query = "", parts = PAGE_PARTS, ...platform }: Unbundled): Platform => ({
  ...platform,
  tools: ["chromium"],
  run: async (directory) => expectPage(`${await serve(join(directory, ".."))}/${platform.app}/${query}`, { parts }),
});

const pages: readonly Platform[] = [
  {
    name: "Script tag, `file://`",
    app: "script-tag",
    tools: ["chromium"],
    use: "`dist/seenguard.iife.js`",
    tested: "a page",
    needs: "where there is no Wasm, a second tag for `dist/seenguard-engine-js.iife.js`",
    run: async (directory) => expectPage(pathToFileURL(join(directory, "index.html")).href),
  },
  unbundled({ name: "Module worker", app: "module-worker", use: "`dist/index.js`", tested: "a worker" }),
  unbundled({
    name: "Service worker, classic",
    app: "service-worker",
    query: "?type=classic",
    use: "`importScripts` of `dist/seenguard.iife.js`",
    tested: "a service worker",
    needs: "where there is no Wasm, `dist/seenguard-engine-js.iife.js`, too",
  }),
  unbundled({
    name: "Service worker, module",
    app: "service-worker",
    query: "?type=module",
    use: "`dist/index.js`",
    tested: "a service worker",
    parts: ["page"],
    needs: "Wasm: a service worker may not `import()` the JavaScript engine",
  }),
  {
    name: "Content security policy without Wasm",
    app: "vite",
    tools: ["vite", "chromium"],
    tested: "a page and a worker with `script-src 'self'`",
    run: async (directory) => {
      await runScript(directory, "build");
      const address = await serve(join(directory, "dist"), "script-src 'self'");
      await expectPage(address, { engine: "js", parts: WITH_WORKER });
    },
  },
];

export const platforms: readonly Platform[] = [...bundlers, ...frameworks, ...testRunners, ...runtimes, ...pages];
