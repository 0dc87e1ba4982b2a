/** Writes tables into the project's documents, each between `<!-- bench NAME -->` and `<!-- /bench -->`. */
import { readFileSync, writeFileSync } from "node:fs";
import { format, resolveConfig } from "prettier";
import { inProject } from "../scripts/lib/paths.mjs";

/** The README has what most readers ask for, the other one the rest. */
const DOCUMENTS = ["README.md", "docs/performance.md"];

export async function writeTables(tables: Readonly<Record<string, string>>): Promise<void> {
  const missing = new Set(Object.keys(tables));
  for (const document of DOCUMENTS) {
    const path = inProject(document);
    let text = readFileSync(path, "utf8");
    for (const [name, table] of Object.entries(tables)) {
      const place = new RegExp(`(<!-- bench ${name} -->\n)[^]*?(<!-- /bench -->)`);
      if (place.test(text)) missing.delete(name);
      text = text.replace(place, (_, begin: string, end: string) => `${begin}\n${table}\n\n${end}`);
    }
    const options = (await resolveConfig(path)) ?? {};
    writeFileSync(path, await format(text, { ...options, filepath: path }));
  }
  if (missing.size > 0) throw new Error(`no document has a place for ${[...missing].join(", ")}`);
}
