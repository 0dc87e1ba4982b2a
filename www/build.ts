/**
 * Builds the page with Vite if any of its sources has changed.
 *
 * The result is moved to its directory in one step, so that a server that starts meanwhile never serves half of it.
 */
import { existsSync, readdirSync, statSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "vite";

const root = fileURLToPath(new URL("..", import.meta.url));
const sources = ["www/page", "www/vite.config.ts", "dist"];
const sourcesOfServer = ["www/alone", "www/data", "www/server"];

/**
 * Returns the directory of the built page. `log` is called before a build. `alone`: the page contains its server, and any
 * file host can serve it.
 */
export async function buildPage(log: (step: string) => void, { alone = false } = {}): Promise<string> {
  const pageDirectory = alone ? `${root}target/demo` : `${root}www/dist`;
  const newestSource = Math.max(
    ...[...sources, ...(alone ? sourcesOfServer : [])].map((path) => lastChangeMs(root + path)),
  );
  if (newestSource === -Infinity) throw new Error("the package is not built yet: npm run build");
  if (lastChangeMs(`${pageDirectory}/index.html`) > newestSource) return pageDirectory;
  log("building the page …");
  await mkdir(`${root}target`, { recursive: true });
  const fresh = await mkdtemp(`${root}target/page-`);
  try {
    await build({
      configFile: `${root}www/vite.config.ts`,
      logLevel: "warn",
      ...(alone && { mode: "alone" }),
      build: { outDir: fresh, emptyOutDir: true },
    });
    await rm(pageDirectory, { recursive: true, force: true });
    await rename(fresh, pageDirectory).catch((error: unknown) => {
      if (!existsSync(`${pageDirectory}/index.html`)) throw error; // else another server has just built the same
    });
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
  return pageDirectory;
}

/** The time of the last change of a file, or of any file below a directory. */
function lastChangeMs(path: string): number {
  if (!existsSync(path)) return -Infinity;
  const stats = statSync(path);
  if (!stats.isDirectory()) return stats.mtimeMs;
  return Math.max(...readdirSync(path).map((name) => lastChangeMs(`${path}/${name}`)));
}
