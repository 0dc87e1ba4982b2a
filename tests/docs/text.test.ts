/** The documentation names what exists: links, commands, files, steps, dependencies. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describe, expect, test } from "vitest";
import { steps } from "../../scripts/test/steps.mjs";
import { examplesIn, pages, readPage, root, type Page } from "./examples.ts";

const MAX_COLUMNS = 120;
const MAX_README_LINES = 180;

interface Manifest {
  readonly version: string;
  readonly scripts: Record<string, string>;
  readonly devDependencies: Record<string, string>;
}
const manifest = JSON.parse(readFileSync(`${root}package.json`, "utf8")) as Manifest;
const readme = readPage("README.md");
const contributing = readPage("CONTRIBUTING.md");

test("scripts of package.json name steps that exist", () => {
  const only = Object.values(manifest.scripts).flatMap(
    (script) => /--only ([\w,-]+)/.exec(script)?.[1]?.split(",") ?? [],
  );
  expect(steps.map(({ name }) => name)).toEqual(expect.arrayContaining(only));
});

test("the README is short", () => {
  expect(readme.text.trimEnd().split("\n").length).toBeLessThanOrEqual(MAX_README_LINES);
});

describe.each(pages.map((page) => ({ path: page.path, page })))("$path", ({ page }) => {
  test(`has no line over ${String(MAX_COLUMNS)} columns, tables excepted`, () => {
    const lines = page.text.split("\n").filter((line) => !line.startsWith("|") && !line.startsWith("!["));
    expect(lines.filter((line) => Array.from(line).length > MAX_COLUMNS)).toEqual([]);
  });

  test("links to what exists", () => {
    for (const target of linksOf(page)) {
      const [path = "", anchor] = target.split("#");
      const linked = path === "" ? page.path : relative(root, join(root, dirname(page.path), path));
      expect(existsSync(root + linked), target).toBe(true);
      if (anchor !== undefined) expect(anchorsOf(readPage(linked)), target).toContain(anchor);
    }
  });

  test("names commands that exist", () => {
    // The table of platforms has the commands of apps.
    const text = page.text.replace(/^\| .*\|$/gm, "");
    for (const [command, script = "", only] of text.matchAll(
      /\bnpm (?:run )?(start|test|(?<=run )[\w-]+)(?: -- --only ([\w,-]+))?/g,
    )) {
      expect(manifest.scripts, command).toHaveProperty(script);
      const names = steps.map(({ name }) => name);
      for (const name of only?.split(",") ?? []) expect(names, command).toContain(name);
    }
  });
});

/** Targets of links within the project. */
function linksOf({ text }: Page): string[] {
  return [...text.matchAll(/\]\(([^)]+)\)/g)]
    .map(([, target = ""]) => target)
    .filter((target) => !target.startsWith("https:"));
}

/** A page's headings, as GitHub makes anchors of them. */
function anchorsOf({ text }: Page): string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replace(/[^\w -]/g, "")
      .replaceAll(" ", "-"),
  );
}

test("the README links to every page in docs/", () => {
  const guides = pages.map(({ path }) => path).filter((path) => path.startsWith("docs/"));
  expect(guides.length).toBeGreaterThan(5);
  expect(linksOf(readme)).toEqual(expect.arrayContaining(guides));
});

test.each([
  { page: contributing, below: "" },
  { page: readPage("www/README.md"), below: "www/" },
])("the tree in $page.path exists", ({ page, below }) => {
  const tree = examplesIn(page).find(({ kind, code }) => kind === "text" && /^\w+\/\S* {2}/.test(code));
  const directories: string[] = [];
  for (const [, indent = "", name = ""] of (tree?.code ?? "").matchAll(/^( {0,4})(\S+) {2}/gm)) {
    const depth = indent.length / 2;
    const path = [below, ...directories.slice(0, depth), name].join("");
    expect(existsSync(root + path), path).toBe(true);
    directories[depth] = name;
  }
  expect(directories).not.toEqual([]);
});

test("scripts/README.md gives the reason of each development dependency", () => {
  expect(tableColumn(readPage("scripts/README.md"), "Package").toSorted()).toEqual(
    Object.keys(manifest.devDependencies).toSorted(),
  );
});

/** The names in backticks in the first column of the table with this heading; a row may have several. */
function tableColumn({ text }: Page, heading: string): string[] {
  const lines = text.split("\n");
  const start = lines.findIndex((line) => new RegExp(`^\\| ${heading} +\\|`).test(line));
  expect(start, heading).toBeGreaterThan(0);
  const rows = lines.slice(start + 2);
  const end = rows.findIndex((line) => !line.startsWith("|"));
  return rows
    .slice(0, end < 0 ? undefined : end)
    .flatMap((row) => [...(row.split("|")[1] ?? "").matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name));
}
