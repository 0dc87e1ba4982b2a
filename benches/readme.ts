/** Writes tables into the project's README, each between `<!-- bench NAME -->` and `<!-- /bench -->`. */
import { readFileSync, writeFileSync } from "node:fs";
import { format, resolveConfig } from "prettier";
import { inProject } from "../scripts/lib/paths.mjs";

export async function writeReadme(tables: Readonly<Record<string, string>>): Promise<void> {
  const path = inProject("README.md");
  let text = readFileSync(path, "utf8");
  for (const [name, table] of Object.entries(tables)) {
    const place = new RegExp(`(<!-- bench ${name} -->\n)[^]*?(<!-- /bench -->)`);
    if (!place.test(text)) throw new Error(`README.md has no place for the table ${name}`);
    text = text.replace(place, (_, begin: string, end: string) => `${begin}\n${table}\n\n${end}`);
  }
  const options = (await resolveConfig(path)) ?? {};
  writeFileSync(path, await format(text, { ...options, filepath: path }));
}
