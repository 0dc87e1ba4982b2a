/** The files of the apps: the code blocks of the pages in apps/, and the files that several apps share. */
import { mkdir, writeFile } from "node:fs/promises";
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { examplesIn, readPage, root } from "../docs/examples.ts";
import { pageOf } from "../packed/pack.ts";

const FEED = '<ol id="feed"></ol>';
const module = (source: string): string => `<script type="module" src="${source}"></script>`;

/** The body of each page, by its file. */
const BODIES: Readonly<Record<string, string>> = {
  "angular/src/index.html": "<app-root></app-root>",
  "esbuild/index.html": FEED + module("dist/main.js"),
  "extension/page.html": '<script src="dist/page.js"></script>',
  "extension/site.html": "",
  "lit/index.html": `<seen-feed user-id="ada"></seen-feed>${module("/src/main.js")}`,
  "module-worker/index.html": module("main.js"),
  "parcel/src/index.html": FEED + module("main.js"),
  "pwa/index.html": FEED + module("/src/main.js"),
  "rollup/index.html": FEED + module("dist/main.js"),
  "rspack/index.html": `${FEED}<script src="dist/main.js"></script>`,
  "service-worker/index.html": module("main.js"),
  "vite/index.html": FEED + module("/src/main.js"),
  "vite-ssr/index.html": `${FEED}<!--app-html-->${module("/src/entry-client.js")}`,
  "webpack/index.html": `${FEED}<script src="dist/main.js"></script>`,
  "yarn-pnp/index.html": FEED + module("dist/main.js"),
};

/** Files of the app `template` that other apps have. */
const COPIES: Readonly<Record<string, readonly string[]>> = {
  "alone.js": ["esbuild/src/main.js", "rollup/src/main.js"],
  "endpoint.js": ["next/app/api/node/route.js", "astro/src/pages/api/node.js", "solid-start/src/routes/api/node.js"],
  "plain.js": ["vite-ssr/src/entry-client.js", "yarn-pnp/src/main.js"],
  "program.js": ["bun/main.js", "deno/main.js", "node/main.js", "yarn-pnp/main.js"],
  "with-worker.js": ["parcel/src/main.js", "rspack/src/index.js", "vite/src/main.js", "webpack/src/index.js"],
  "worker.js": ["parcel/src/worker.js", "rspack/src/worker.js", "vite/src/worker.js", "webpack/src/worker.js"],
};

/** Contents by path, which begins with the name of the app. */
export const appFiles: ReadonlyMap<string, string> = new Map([...blocks(), ...pages(), ...copies()]);

function blocks(): [string, string][] {
  const names = readdirSync(`${root}tests/bundlers/apps`).filter((name) => name.endsWith(".md"));
  const found = names.flatMap((name) => examplesIn(readPage(`tests/bundlers/apps/${name}`)));
  return found.map(({ kind, code }) => [kind.replace(/^\w+ /, ""), code]);
}

function pages(): [string, string][] {
  return Object.entries(BODIES).map(([path, body]) => [path, pageOf(path.split("/")[0] ?? "", body)]);
}

function copies(): [string, string][] {
  const templates = new Map(blocks());
  return Object.entries(COPIES).flatMap(([name, paths]) => {
    const code = templates.get(`template/${name}`);
    if (code === undefined) throw new Error(`apps/template.md has no ${name}`);
    return paths.map((path): [string, string] => [path, code]);
  });
}

/** Writes them into the directory of the apps. */
export async function writeApps(directory: string): Promise<void> {
  for (const [path, code] of appFiles) {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await writeFile(join(directory, path), code);
  }
}
