/**
 * Whether the package has grown: target/sizes.json beside benches/sizes.json. Every kilobyte is paid for by every
 * visitor, and one at a time nobody notices.
 *
 *     node scripts/test/sizes.mjs             compares the built package
 *     node scripts/test/sizes.mjs --update    records its sizes anew
 */
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { compare, readBudget, writeBudget } from "../lib/budget.mjs";
import { inProject } from "../lib/paths.mjs";
import { rustVersion } from "../lib/rust.mjs";
import { main } from "../setup.mjs";

const path = inProject("benches", "sizes.json");
const update = "node scripts/test/sizes.mjs --update";
const GROWTH = 0.02;

/** Where the sizes should get, by having less to do: bytes after brotli. A step closer is worth no trick. */
const goals = { seenguard: 64_000, "seenguard/slim": 14_000 };

/** @returns {Record<string, number>} */
function sizes() {
  const file = readFileSync(inProject("target", "sizes.json"), "utf8");
  const { sizes } = /** @type {{ sizes: Record<string, { brotli: number }> }} */ (JSON.parse(file));
  return Object.fromEntries(Object.entries(sizes).map(([name, { brotli }]) => [name, brotli]));
}

export async function checkSizes() {
  const { tool, numbers } = readBudget(path);
  const [compiler, now] = [await rustVersion(), sizes()];
  if (compiler !== tool) console.log(`recorded with ${tool}; this is ${compiler}, which may make the Wasm differ`);
  for (const [name, goal] of Object.entries(goals)) {
    const size = now[name] ?? Infinity;
    if (size > goal) console.log(`${name}: ${String(size)} bytes, ${String(size - goal)} more than its goal`);
  }
  compare({ before: numbers, now, growth: GROWTH, unit: "bytes", update });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  await main(async () => {
    if (process.argv.includes("--update")) writeBudget(path, { tool: await rustVersion(), numbers: sizes() });
    else await checkSizes();
  });
}
