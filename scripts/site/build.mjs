/**
 * Builds the site: `node scripts/site/build.mjs BASE DIRECTORY`, in a process of its own, since VitePress changes the
 * environment of the process.
 *
 *     docs/*.md, SECURITY.md, CHANGELOG.md ──┐
 *     js/types/ ── reference.mjs ────────────┴─► target/site-pages/ ── VitePress ──► DIRECTORY
 *     www/ ── the project's own Vite ──► target/demo/ ───────────────────────────────► DIRECTORY/demo/
 */
import { cpSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import { tsImport } from "tsx/esm/api";
import { build } from "vitepress";
import { groups, REFERENCE, sourceOf } from "../../docs/.vitepress/pages.mjs";
import { writeWhole } from "../lib/files.mjs";
import { inProject } from "../lib/paths.mjs";
import { referencePages } from "./reference.mjs";

const [base = "/", outDir = inProject("target", "site")] = process.argv.slice(2);

gatherPages();
await build(inProject("docs"), { base, outDir });
/** @type {typeof import("../../www/build.ts")} */
const { buildPage } = await tsImport("../../www/build.ts", import.meta.url);
cpSync(await buildPage(console.log, { alone: true }), `${outDir}/demo`, { recursive: true });

/** Copies all sources of VitePress's pages into one directory. */
function gatherPages() {
  const names = groups.flatMap(({ pages }) => pages);
  const directory = inProject("target", "site-pages");
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(`${directory}/public`, { recursive: true });
  for (const file of readdirSync(inProject("docs"))) {
    if (file.endsWith(".md") && !names.includes(file.replace(/\.md$/, "")))
      throw new Error(`docs/${file} is in no group of docs/.vitepress/pages.mjs`);
    if (/\.(json|yml)$/.test(file)) cpSync(inProject("docs", file), `${directory}/public/${file}`);
    if (file.endsWith(".png")) cpSync(inProject("docs", file), `${directory}/${file}`);
  }
  cpSync(inProject("www", "page", "public", "favicon.svg"), `${directory}/public/favicon.svg`);
  cpSync(inProject("docs", ".vitepress", "index.md"), `${directory}/index.md`);
  for (const name of names) cpSync(inProject(sourceOf(name)), `${directory}/${name}.md`);
  for (const [name, text] of referencePages()) writeWhole(`${directory}/${REFERENCE}/${name}.md`, text);
}
