/**
 * Whether each part of the package keeps its budget: target/sizes.json, which the build has measured, next to the table
 * below. Every visitor pays for every kilobyte, and no single one is noticed.
 */
import { readFileSync } from "node:fs";
import { inProject } from "../lib/paths.mjs";
import { CommandFailed } from "../lib/run.mjs";

/** @typedef {{ bytes: number, brotli: number }} Size */

/**
 * Most bytes as text, minified, and after brotli. A number is raised only with a reason next to it.
 * @type {Readonly<Record<string, readonly [text: number, brotli: number]>>}
 */
const budgets = {
  // Aim: 60 KB.
  seenguard: [180_500, 60_500],
  "seenguard/formats": [261_000, 89_500],
  // Aim: 16 KB. Storage is in TypeScript: 1.5 KB more here, and 13 KB less in the module.
  "seenguard/slim": [78_500, 25_600],
  "seenguard/lazy": [250, 200],
  "seenguard.wasm": [97_500, 34_800],
  "formats.wasm": [169_500, 63_000],
  "seenguard.iife.js": [262_000, 90_200],
  // A file of its own, which a page without Wasm requests.
  "seenguard/engine-js": [220_000, 57_000],
  "seenguard/formats/engine-js": [363_000, 95_200],
  // With a feed for where there is no guard, which an app that has one imports anyway: then a third of it. 300 bytes of
  // brotli are for reports of their own, roots, and guards that are opened again.
  "seenguard/react": [18_600, 6_900],
  "seenguard/vue": [18_600, 6_900],
  "seenguard/svelte": [18_600, 6_900],
  "seenguard/testing": [3_200, 1_600],
  "seenguard/devtools": [16_500, 6_000],
  // 10 KB of it, of the same engine in both, for the commands of stores in Redis, which stand in the core alone, and for
  // histories that other settings and versions do not end; 20 KB for the store's logic, which stood in JavaScript, too.
  "seenguard/server": [486_000, 153_000],
  "seenguard/server/testing": [6_000, 2_200],
  "seenguard/near-duplicates": [467_500, 146_500],
};

/** Throws for what is over its budget. */
export function checkSizes() {
  const file = readFileSync(inProject("target", "sizes.json"), "utf8");
  const { sizes } = /** @type {{ sizes: Record<string, Size> }} */ (JSON.parse(file));
  /** @type {string[]} */
  const wrong = [];
  for (const name of new Set([...Object.keys(budgets), ...Object.keys(sizes)])) {
    const [budget, size] = [budgets[name], sizes[name]];
    if (!budget || !size) {
      wrong.push(`${name} ${budget ? "was not built" : "has no budget"}`);
      continue;
    }
    const found = [size.bytes, size.brotli].map((bytes, index) => `${String(bytes)} of ${String(budget[index])}`);
    console.log(`${name.padEnd(28)}${found.map((text) => text.padEnd(20)).join("")}`);
    if (size.bytes > budget[0] || size.brotli > budget[1])
      wrong.push(`${name} is over its budget: ${found.join(", ")}`);
  }
  if (wrong.length > 0) throw new CommandFailed(wrong.join("\n"));
}
