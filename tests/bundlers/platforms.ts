/** Every platform that the package is tried on: a row of the table in docs/platforms.md each. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, inject } from "vitest";
import { runHermes } from "../support/processes.js";
import { serve } from "../packed/chromium.js";
import { expectServed, type ServerOutcome } from "../packed/scenarios.js";
import {
  expectEndpoint,
  expectExtension,
  expectOffline,
  expectOutcomes,
  expectPage,
  PAGE_PARTS,
  readOutcome,
  type Outcomes,
  type Part,
} from "./expectations.js";
import { runScript, startServer } from "./programs.js";
import { expectTypes } from "./types.js";

export interface Platform {
  readonly name: string;
  /** A directory: its files are in a page of apps/. */
  readonly app: string;
  /** The packages, or "node" or "chromium", whose versions the table shows. */
  readonly tools: readonly string[];
  /** The parts of an app that are tried. */
  readonly tested: string;
  /** What an app needs beyond installing the package and importing it. */
  readonly needs?: string | undefined;
  /** Whether it is the app before, by another version, bundler or host: it is tried as the table is written. */
  readonly again?: true;
  /** @param directory the app, among the others */
  readonly run: (directory: string) => Promise<void>;
}

interface Bundled extends Omit<Platform, "run" | "tested"> {
  /** The script that builds it. @default "build" */
  readonly script?: string;
  /** The directory of the app that a server serves. */
  readonly serves: string;
  readonly parts: readonly Part[];
  /** The list that docs/ has for it. */
  readonly list?: true | undefined;
}

/** A page that is built. */
const bundled = ({ script = "build", serves, parts, list, ...platform }: Bundled): Platform => ({
  ...platform,
  tested: parts.includes("worker") ? "page, worker" : "page",
  run: async (directory) => {
    await runScript(directory, script);
    await expectPage(await serve(join(directory, serves)), { parts, list });
  },
});

const WITH_WORKER = [...PAGE_PARTS, "worker"] as const;

const bundlers: readonly Platform[] = [
  bundled({ name: "Vite", app: "vite", tools: ["vite"], serves: "dist", parts: WITH_WORKER }),
  bundled({
    name: "Vite 6",
    app: "vite",
    tools: ["vite-6"],
    again: true,
    script: "build:6",
    serves: "dist",
    parts: WITH_WORKER,
  }),
  bundled({ name: "webpack 5", app: "webpack", tools: ["webpack", "webpack-cli"], serves: ".", parts: WITH_WORKER }),
  bundled({
    name: "Rollup",
    app: "rollup",
    tools: ["rollup"],
    serves: ".",
    parts: PAGE_PARTS,
    needs: "`output.dir`, node-resolve",
  }),
  bundled({
    name: "esbuild",
    app: "esbuild",
    tools: ["esbuild"],
    serves: ".",
    parts: PAGE_PARTS,
    needs: "`--splitting` for a `fallback`",
  }),
  bundled({ name: "Parcel", app: "parcel", tools: ["parcel"], serves: "dist", parts: WITH_WORKER }),
  bundled({ name: "rspack", app: "rspack", tools: ["@rspack/core", "@rspack/cli"], serves: ".", parts: WITH_WORKER }),
];

/** Client and server of an app in Next, by one of its two bundlers. */
const next = (bundler: string, build: string): Platform => ({
  name: `Next (${bundler})`,
  app: "next",
  tools: ["next"],
  tested: "page, server, edge runtime",
  run: async (directory) => {
    await runScript(directory, build);
    const address = await startServer(directory, "start");
    await expectEndpoint(`${address}/api/node`);
    await expectEndpoint(`${address}/api/edge`);
    await expectPage(address, { server: true });
  },
});

/** A page that the app's server renders. */
const renderedPage = (name: string, app: string, tools: string[]): Platform => ({
  name,
  app,
  tools,
  tested: "page, rendered on a server",
  run: async (directory) => {
    await runScript(directory, "build");
    await expectPage(await startServer(directory, "start"), { server: true, parts: ["page"] });
  },
});

interface Rendered extends Omit<Platform, "run" | "tested"> {
  /** What the scripts "build" and "start" have behind their names. */
  readonly variant?: string;
  /** The code that runs on the server. */
  readonly server: string;
  /** The list that docs/ has for it. */
  readonly list?: true | undefined;
}

/** Client and server of an app, with an endpoint. */
const rendered = ({ variant = "", server, list, ...platform }: Rendered): Platform => ({
  ...platform,
  tested: `page, server: ${server}`,
  run: async (directory) => {
    await runScript(directory, `build${variant}`);
    const address = await startServer(directory, `start${variant}`);
    await expectEndpoint(`${address}/api/node`);
    await expectPage(address, { server: true, parts: ["page"], list });
  },
});

const frameworks: readonly Platform[] = [
  next("Turbopack", "build"),
  { ...next("webpack", "build:webpack"), again: true },
  renderedPage("Vite with server rendering", "vite-ssr", ["vite"]),
  rendered({ name: "SvelteKit", app: "sveltekit", tools: ["@sveltejs/kit", "svelte"], server: "`load`, route" }),
  rendered({
    name: "SvelteKit on Cloudflare",
    app: "sveltekit",
    tools: ["@sveltejs/kit", "workerd"],
    again: true,
    variant: ":cloudflare",
    server: "`load`, route",
  }),
  rendered({ name: "Nuxt on Cloudflare", app: "nuxt", tools: ["nuxt", "workerd"], server: "`useFetch`, route" }),
  rendered({ name: "React Router", app: "react-router", tools: ["react-router"], server: "`loader`, route" }),
  rendered({
    name: "TanStack Start",
    app: "tanstack-start",
    tools: ["@tanstack/react-start"],
    server: "function, route",
  }),
  rendered({
    name: "SolidStart",
    app: "solid-start",
    tools: ["@solidjs/start", "solid-js"],
    server: "function, route",
    list: true,
  }),
  rendered({ name: "Astro", app: "astro", tools: ["astro"], server: "page, route", list: true }),
  renderedPage("Qwik", "qwik", ["@builder.io/qwik", "vite-6"]),
  bundled({
    name: "Angular",
    app: "angular",
    tools: ["@angular/core", "@angular/build"],
    serves: "dist/browser",
    parts: ["page"],
    list: true,
  }),
  bundled({ name: "Lit", app: "lit", tools: ["lit", "vite"], serves: "dist", parts: ["page"], list: true }),
];

/** Tests of an app, by a test runner that the app brings. */
const testRunner = (name: string, app: string, tools: string[], pages: string[], needs?: string): Platform => ({
  name,
  app,
  tools: [app, ...tools],
  tested: `tests: server, ${pages.join(", ")}`,
  needs,
  run: async (directory) => {
    await runScript(directory, "test");
    expectServed(await readOutcome<ServerOutcome>(directory, "server.json"));
    for (const page of pages) {
      // Their documents have no IndexedDB.
      const outcomes = await readOutcome<Outcomes>(directory, `${page}.json`);
      expectOutcomes(outcomes, { storage: "unavailable", errors: ["storage"] });
    }
  },
});

const testRunners: readonly Platform[] = [
  testRunner("Jest", "jest", ["jest-environment-jsdom"], ["jsdom"], "[`setupFiles`](debugging.md)"),
  testRunner("Vitest", "vitest", ["jsdom", "happy-dom"], ["jsdom", "happy-dom"]),
];

/** A program that prints its results. */
const runtime = (name: string, app: string, tool: string): Platform => ({
  name,
  app,
  tools: [tool],
  tested: "program",
  run: async (directory) => expectServed(JSON.parse((await runScript(directory, "start")).stdout) as ServerOutcome),
});

const runtimes: readonly Platform[] = [
  runtime("Node", "node", "node"),
  runtime("Bun", "bun", "bun"),
  runtime("Deno", "deno", "deno"),
  {
    name: "Yarn, Plug'n'Play",
    app: "yarn-pnp",
    tools: ["@yarnpkg/cli-dist", "esbuild"],
    tested: "program, page",
    run: async (directory) => {
      await runScript(directory, "add");
      expectServed(JSON.parse((await runScript(directory, "start")).stdout) as ServerOutcome);
      await runScript(directory, "build");
      await expectPage(await serve(directory), { parts: ["page"] });
    },
  },
  {
    name: "Metro, Hermes",
    app: "metro",
    tools: ["metro", "hermes-engine-cli"],
    tested: "React Native without its views",
    needs: "[`storage`](hybrid.md)",
    run: async (directory) => {
      await runScript(directory, "build");
      const outcomes = JSON.parse(await runHermes(inject("tools"), join(directory, "bundle.js"))) as Outcomes;
      expectOutcomes(outcomes, { parts: ["page"], storage: "custom", engine: "js" });
    },
  },
  {
    name: "workerd",
    app: "workerd",
    tools: ["workerd", "wrangler"],
    tested: "a worker's `fetch`",
    run: async (directory) => expectEndpoint(await startServer(directory, "start")),
  },
];

interface Unbundled extends Omit<Platform, "run" | "tools"> {
  /** The query in the address. */
  readonly query?: string;
  readonly parts?: readonly Part[];
}

/** A page that runs without a build, from the directory with all apps. */
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
    tested: "page",
    run: async (directory) => expectPage(pathToFileURL(join(directory, "index.html")).href),
  },
  unbundled({ name: "Module worker", app: "module-worker", tested: "worker" }),
  unbundled({
    name: "Service worker, classic",
    app: "service-worker",
    query: "?type=classic",
    tested: "service worker",
  }),
  unbundled({
    name: "Service worker, module",
    app: "service-worker",
    query: "?type=module",
    tested: "service worker",
    needs: "`fallback` by static `import`",
  }),
  {
    name: "PWA (Workbox)",
    app: "pwa",
    tools: ["vite-plugin-pwa", "workbox-build"],
    tested: "page, online and offline",
    run: async (directory) => {
      const { stdout, stderr } = await runScript(directory, "build");
      expect(stdout + stderr).not.toMatch(/warn|\(!\)/i);
      await expectOffline(await serve(join(directory, "dist")));
    },
  },
  {
    name: "Extension",
    app: "extension",
    tools: ["chromium", "esbuild"],
    tested: "page, worker, content script",
    needs: "`wasm-unsafe-eval`",
    run: async (directory) => {
      await runScript(directory, "build");
      await expectExtension(directory, `${await serve(directory)}/site.html`);
    },
  },
  {
    name: "TypeScript",
    app: "typescript",
    tools: ["typescript-5.0", "typescript-newest"],
    tested: "types of each adapter alone",
    run: expectTypes,
  },
  {
    name: "Policy without Wasm",
    app: "vite",
    tools: ["vite", "chromium"],
    tested: "page, worker",
    needs: "`fallback`",
    run: async (directory) => {
      await runScript(directory, "build");
      const address = await serve(join(directory, "dist"), "script-src 'self'");
      await expectPage(address, { engine: "js", parts: WITH_WORKER });
    },
  },
];

export const platforms: readonly Platform[] = [...bundlers, ...frameworks, ...testRunners, ...runtimes, ...pages];
