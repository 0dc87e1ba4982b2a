/** The table of docs/platforms.md: the platforms that a run has tried, with their versions. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { inject } from "vitest";
import { chromiumVersion } from "../packed/chromium.js";
import type { Platform } from "./platforms.js";

const page = fileURLToPath(new URL("../../docs/platforms.md", import.meta.url));
/** Prettier leaves the table alone: it would pad the cells. */
const BEGIN = "<!-- platforms: written by `npx vitest run --project bundlers --update` -->\n\n<!-- prettier-ignore -->";
const END = "<!-- end of platforms -->";

/** A row's cells, by the heading of their column. */
export type Row = Record<(typeof HEADINGS)[number], string>;

const HEADINGS = ["Platform", "Versions", "Tried", "It needs"] as const;

export function rowOf({ name, tools, tested, needs = "" }: Platform): Row {
  return { Platform: name, Versions: tools.map(toolWithVersion).join(", "), Tried: tested, "It needs": needs };
}

/** @param tool may be the alias of another version, such as `vite-6` */
function toolWithVersion(tool: string): string {
  if (tool === "node") return `node ${process.versions.node}`;
  if (tool === "chromium") return `chromium ${chromiumVersion()}`;
  const manifest = readFileSync(join(inject("tools"), "node_modules", tool, "package.json"), "utf8");
  const { name, version } = JSON.parse(manifest) as { name: string; version: string };
  return `${name} ${version}`;
}

/** The rows that docs/platforms.md has. */
export function readRows(): Row[] {
  const [, table] = splitPage();
  const cells = table
    .trim()
    .split("\n")
    .map((line) =>
      line
        .split("|")
        .map((cell) => cell.trim())
        .slice(1, -1),
    );
  return cells.slice(2).map((row) => Object.fromEntries(HEADINGS.map((heading, i) => [heading, row[i] ?? ""])) as Row);
}

export function writeRows(rows: readonly Row[]): void {
  const [before, , after] = splitPage();
  const lines = [HEADINGS, HEADINGS.map(() => "---"), ...rows.map((row) => HEADINGS.map((heading) => row[heading]))];
  const table = lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
  writeFileSync(page, `${before}${BEGIN}\n${table}\n\n${END}${after}`);
}

/** Returns the page before the table, the table, and the page after it. */
function splitPage(): [string, string, string] {
  const text = readFileSync(page, "utf8");
  const [begin, end] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (begin < 0 || end < begin) throw new Error(`docs/platforms.md lacks the lines ${BEGIN} and ${END}`);
  return [text.slice(0, begin), text.slice(begin + BEGIN.length, end), text.slice(end + END.length)];
}
