/** What the apps of bundlers have in common: a page, of which they differ in the body, its script and its worker. */
import { cp, mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

const FEED = '<ol id="feed"></ol>';
const module = (source: string): string => `<script type="module" src="${source}"></script>`;

/** What is in the body of a page, by its file. */
const BODIES: Readonly<Record<string, string>> = {
  "angular/src/index.html": "<app-root></app-root>",
  "esbuild/index.html": FEED + module("dist/main.js"),
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

/** Files of apps/template that an app has as its own. */
const SCRIPTS: Readonly<Record<string, string>> = {
  "esbuild/src/main.js": "alone.js",
  "parcel/src/main.js": "with-worker.js",
  "parcel/src/worker.js": "worker.js",
  "rollup/src/main.js": "alone.js",
  "rspack/src/index.js": "with-worker.js",
  "rspack/src/worker.js": "worker.js",
  "vite/src/main.js": "with-worker.js",
  "vite/src/worker.js": "worker.js",
  "webpack/src/index.js": "with-worker.js",
  "webpack/src/worker.js": "worker.js",
};

const pageOf = (path: string, body: string): string => `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <title>A feed: ${dirname(path).split("/")[0] ?? ""}</title>
    <link rel="icon" href="data:," />
  </head>
  <body>${body}</body>
</html>
`;

/** Writes them into the directory of the apps. */
export async function writePages(directory: string): Promise<void> {
  for (const [path, body] of Object.entries(BODIES)) {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await writeFile(join(directory, path), pageOf(path, body));
  }
  for (const [path, script] of Object.entries(SCRIPTS))
    await cp(join(directory, "template", script), join(directory, path));
}
