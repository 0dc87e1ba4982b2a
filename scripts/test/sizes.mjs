/**
 * Whether the package has grown: the files that pages load, as brotli sends them, beside benches/sizes.json. Every kilobyte is paid for by every
 * visitor, and one at a time nobody notices.
 *
 *     node scripts/test/sizes.mjs             compares the built package
 *     node scripts/test/sizes.mjs --update    writes its sizes down anew
 */
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { compare, readBudget, writeBudget } from "../lib/budget.mjs";
import { inProject } from "../lib/paths.mjs";
import { rustVersion } from "../lib/rust.mjs";
import { main } from "../setup.mjs";

const path = inProject("benches", "sizes.json");
const update = "node scripts/test/sizes.mjs --update";
/** Compilers and compressors of another version differ by a little. */
const GROWTH = 0.01;

/** The ES modules stand for their CommonJS copies. */
const isCounted = (/** @type {string} */ file) => !file.endsWith(".cjs");

function sizes() {
  const file = readFileSync(inProject("dist", "sizes.json"), "utf8");
  const { sizes } = /** @type {{ sizes: Record<string, { brotli: number }> }} */ (JSON.parse(file));
  return Object.fromEntries(
    Object.entries(sizes)
      .filter(([name]) => isCounted(name))
      .map(([name, { brotli }]) => [name, brotli]),
  );
}

export async function checkSizes() {
  const { tool, numbers } = readBudget(path);
  const compiler = await rustVersion();
  if (compiler !== tool) console.log(`written down with ${tool}; this is ${compiler}, which may make the Wasm differ`);
  compare({ before: numbers, now: sizes(), growth: GROWTH, unit: "bytes", update });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  await main(async () => {
    if (process.argv.includes("--update")) writeBudget(path, { tool: await rustVersion(), numbers: sizes() });
    else await checkSizes();
  });
}
