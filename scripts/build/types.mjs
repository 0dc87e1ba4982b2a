/** Copies the entries' declarations, written by hand in js/types/, for each module format. */
import { readFileSync } from "node:fs";
import { writeWhole } from "../lib/files.mjs";
import { inProject } from "../lib/paths.mjs";
import { entries, fileOf } from "./entries.mjs";

export function copyTypes() {
  for (const entry of entries) {
    const { name, types = name, isEsmOnly } = entry;
    const declarations = readFileSync(inProject("js", "types", `${types}.d.ts`), "utf8");
    for (const [extension, suffix] of /** @type {const} */ ([
      ["ts", ".js"],
      ["cts", ".cjs"],
    ])) {
      if (isEsmOnly && extension === "cts") continue;
      writeWhole(inProject("dist", `${fileOf(entry)}.d.${extension}`), withSpecifiers(declarations, suffix));
    }
  }
}

/**
 * Changes the imports of other entries' declarations to their file names in dist/.
 * @param {string} declarations
 * @param {".js" | ".cjs"} suffix
 */
function withSpecifiers(declarations, suffix) {
  return declarations.replace(/(?<=\b(?:from|import\()\s*)"(\.[^"]+)"/g, (_, /** @type {string} */ specifier) => {
    const entry = entries.find(({ name, types = name }) => specifier === `./${types}.js`);
    if (entry === undefined) throw new Error(`a declaration imports ${specifier}, which is not packed`);
    return `"./${fileOf(entry)}${suffix}"`;
  });
}
