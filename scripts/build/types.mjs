/** The declarations of the entries, kept by hand in js/, for each kind of module. */
import { readFileSync } from "node:fs";
import { inProject } from "../lib/paths.mjs";
import { writeWhole } from "../lib/files.mjs";

export function copyTypes() {
  const index = readFileSync(inProject("js", "seenguard.d.ts"), "utf8");
  const slim = readFileSync(inProject("js", "slim.d.ts"), "utf8");
  writeTypes("index.d.ts", index);
  writeTypes("index.d.cts", index);
  const toIndex = /"\.\/(?:index|seenguard)\.js"/g;
  writeTypes("slim.d.ts", slim.replace(toIndex, '"./index.js"'));
  writeTypes("slim.d.cts", slim.replace(toIndex, '"./index.cjs"'));
}

/**
 * @param {string} file
 * @param {string} declarations
 */
function writeTypes(file, declarations) {
  const allowed = file.endsWith(".cts") ? "./index.cjs" : "./index.js";
  for (const [, specifier] of declarations.matchAll(/\b(?:from|import\()\s*"([^"]+)"/g)) {
    if (specifier !== allowed) throw new Error(`dist/${file} would import ${String(specifier)}, which is not packed`);
  }
  writeWhole(inProject("dist", file), declarations);
}
