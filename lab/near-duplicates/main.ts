/**
 * Measures how well `NearDuplicates` finds edited copies: `node --import tsx lab/near-duplicates/main.ts`.
 * With --write, writes the tables into docs/near-duplicates.md.
 */
import { writeTables } from "../../scripts/lib/tables.mjs";
import { measure } from "./tables.ts";

const tables = await measure();
if (process.argv.includes("--write")) await writeTables(tables, ["docs/near-duplicates.md"]);
else for (const [name, table] of Object.entries(tables)) console.log(`${name}\n\n${table}\n`);
