/** Writes tables into the project's documents, each between `<!-- measured NAME -->` and `<!-- /measured -->`. */
import { readFileSync, writeFileSync } from "node:fs";
import { inProject } from "./paths.mjs";

/**
 * @param {Readonly<Record<string, string>>} tables by name
 * @param {readonly string[]} documents where they may stand
 */
export async function writeTables(tables, documents) {
  // On demand: scripts that write tables also install the npm packages.
  const { format, resolveConfig } = await import("prettier");
  const missing = new Set(Object.keys(tables));
  for (const document of documents) {
    const path = inProject(document);
    let text = readFileSync(path, "utf8");
    for (const [name, table] of Object.entries(tables)) {
      const place = new RegExp(`(<!-- measured ${name} -->\n)[^]*?(<!-- /measured -->)`);
      if (place.test(text)) missing.delete(name);
      text = text.replace(
        place,
        (_, /** @type {string} */ begin, /** @type {string} */ end) => `${begin}\n${table}\n\n${end}`,
      );
    }
    const options = (await resolveConfig(path)) ?? {};
    writeFileSync(path, await format(text, { ...options, filepath: path }));
  }
  if (missing.size > 0) throw new Error(`no document has a place for ${[...missing].join(", ")}`);
}
