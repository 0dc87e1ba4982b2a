/** The demo's data in Node; www/README.md has its origin. */
import { readFile } from "node:fs/promises";
import { catalogueOf, type Item } from "./catalogue.ts";

export async function readCatalogue(): Promise<Item[]> {
  return catalogueOf(await readFile(new URL("../data/wiki-urls-10000", import.meta.url), "utf8"));
}
