/** Writes tables into the project's documents, each between `<!-- measured NAME -->` and `<!-- /measured -->`. */
import { readFileSync, writeFileSync } from "node:fs";
import { inProject } from "./paths.mjs";

/**
 * @param {Readonly<Record<string, string>>} tables by name
 * @param {readonly string[]} documents the documents with their regions
 */
export async function writeTables(tables, documents) {
  // Imported on demand, since scripts that write tables install the npm packages first.
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
        (_, /** @type {string} */ begin, /** @type {string} */ end) => `${begin}\n${unpadded(table)}\n\n${end}`,
      );
    }
    const options = (await resolveConfig(path)) ?? {};
    writeFileSync(path, await format(text, { ...options, filepath: path }));
  }
  if (missing.size > 0) throw new Error(`no document has a region for ${[...missing].join(", ")}`);
}

/** Removes the padding of tables, and makes prettier ignore them. @param {string} text */
function unpadded(text) {
  const withMark = text.replace(/(?:^\|.*\n?)+/gm, "<!-- prettier-ignore -->\n$&");
  return withMark.replace(/^\|.*/gm, (row) =>
    row.replace(/ {2,}/g, " ").replace(/-{3,}(:?)/g, (_, colon) => (colon ? "--:" : "---")),
  );
}
