/**
 * Which files of src/ may import which: no circle of files, and folders only what lies below them. Tests are left out.
 *
 * What a file says by `use` or by a path counts, of a re-export the file that it comes from. A module that declares
 * files or passes on what is in them does not import them.
 */
import { readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { pathToFileURL } from "node:url";
import { inProject } from "../lib/paths.mjs";
import { CommandFailed } from "../lib/run.mjs";

/** Files and folders of src/, the lowest first: each may import what is in a line above its own. */
const layers = [
  ["base36", "error", "id_map", "rank", "time"],
  ["base64", "impression", "params"],
  ["hash"],
  ["bloom", "devices", "id_list", "near_duplicates"],
  ["bit_sliced", "shard"],
  ["wire"],
  ["snapshot", "table"],
  ["chain", "guard", "inspect"],
  ["redis", "store_call"],
  ["plan"],
  ["web"],
  ["lib"],
];

/**
 * @typedef {object} Use
 * @property {readonly string[]} path
 * @property {string} name that it has in this file
 * @property {boolean} isPublic
 */

/**
 * @typedef {object} File
 * @property {string} path below src/
 * @property {string} module such as `crate::wire::format`
 * @property {readonly Use[]} uses
 * @property {string} code without its uses
 */

export function checkRustImports() {
  const files = readdirSync(inProject("src"), { recursive: true, encoding: "utf8" })
    .map((path) => path.replaceAll("\\", "/"))
    .filter((path) => path.endsWith(".rs"))
    .sort()
    .map(read);
  const imports = importsOf(files);
  const wrong = [...complaintsOfLayers(imports), ...circles(imports).map((circle) => `circle: ${circle.join(" → ")}`)];
  if (wrong.length > 0) throw new CommandFailed(wrong.join("\n"));
  const count = [...imports.values()].reduce((sum, imported) => sum + imported.size, 0);
  console.log(`${String(files.length)} files of src/, ${String(count)} imports, no circle`);
}

/** @param {string} path @returns {File} */
function read(path) {
  const source = withoutTests(withoutTexts(readFileSync(inProject("src", path), "utf8")));
  const statement = /^[ \t]*(pub(?:\(\w+\))? )?use ([^;]+);/gm;
  const uses = [...source.matchAll(statement)].flatMap(([, visibility, tree = ""]) =>
    leaves(tree.replaceAll(/\s+/g, " ").trim(), []).map((use) => ({ ...use, isPublic: visibility !== undefined })),
  );
  return { path, module: moduleOf(path), uses, code: source.replaceAll(statement, "") };
}

/** @param {string} path */
function moduleOf(path) {
  const names = path.replace(/(^|\/)(lib|mod)\.rs$|\.rs$/, "").split("/");
  return ["crate", ...names.filter((name) => name !== "")].join("::");
}

/** Without comments, and without what is in quotes. @param {string} source */
const withoutTexts = (source) =>
  source.replaceAll(/\/\/.*|\/\*[^]*?\*\/|\bb?r(#*)"[^]*?"\1|\bb?"(?:\\[^]|[^"\\])*"|"(?:\\[^]|[^"\\])*"/g, (text) =>
    text.startsWith("/") ? "" : '""',
  );

/** An item that rustfmt has put at the beginning of a line ends with the first such brace. @param {string} source */
const withoutTests = (source) => source.replaceAll(/^#\[cfg\(.*\btest\b.*\)\]\nmod \w+ \{\n[^]*?^\}$/gm, "");

/**
 * What a tree of `use` names: `a::{b, c::d as e}` is `a::b` and `a::c::d`.
 * @param {string} tree
 * @param {readonly string[]} before
 * @returns {{ path: string[], name: string }[]}
 */
function leaves(tree, before) {
  const group = /^((?:\w+::)*)\{(.*)\}$/.exec(tree);
  if (group !== null) {
    const [, prefix = "", inner = ""] = group;
    const path = [...before, ...prefix.split("::").slice(0, -1)];
    return topLevel(inner).flatMap((part) => leaves(part, path));
  }
  const [whole = "", alias] = tree.split(" as ");
  const path = [...before, ...whole.split("::")];
  if (path.at(-1) === "self") path.pop();
  return [{ path, name: alias ?? path.at(-1) ?? "" }];
}

/** The parts between the commas that are in no braces. @param {string} text */
function topLevel(text) {
  const parts = [""];
  let depth = 0;
  for (const character of text) {
    depth += Number(character === "{") - Number(character === "}");
    if (character === "," && depth === 0) parts.push("");
    else parts.push(`${parts.pop() ?? ""}${character}`);
  }
  return parts.map((part) => part.trim()).filter((part) => part !== "");
}

/**
 * @param {readonly File[]} files
 * @returns {Map<string, Set<string>>} by a file's path the paths of those that it imports
 */
function importsOf(files) {
  const byModule = new Map(files.map((file) => [file.module, file]));
  /**
   * The file that a path of another leads to, if it is in this crate.
   * @param {File} from
   * @param {readonly string[]} path
   * @returns {File | undefined}
   */
  const resolve = (from, path) => {
    const [first = "", ...rest] = path;
    const parent = from.module.split("::").slice(0, -1).join("::");
    const start = { crate: "crate", self: from.module, super: parent }[first];
    // The names of a file's own modules need nothing before them.
    if (start === undefined) return byModule.has(`${from.module}::${first}`) ? resolve(from, ["self", ...path]) : start;
    let module = start;
    for (const name of rest) {
      if (name === "super") module = module.split("::").slice(0, -1).join("::");
      else if (byModule.has(`${module}::${name}`)) module = `${module}::${name}`;
      else {
        const file = byModule.get(module);
        const passedOn = file?.uses.find((use) => use.name === name);
        return (file && passedOn && resolve(file, passedOn.path)) ?? file;
      }
    }
    return byModule.get(module);
  };
  return new Map(
    files.map((file) => {
      // A re-export is not an import.
      const isUsed = (/** @type {Use} */ { name, isPublic }) =>
        !isPublic || new RegExp(`\\b${name}\\b`).test(file.code);
      const paths = file.uses.filter(isUsed).map(({ path }) => path);
      const named = [...file.code.matchAll(/(?<!::|\w)\w+(?:::\w+)+/g)].map(([path]) => path.split("::"));
      const imported = [...paths, ...named].flatMap((path) => resolve(file, path)?.path ?? []);
      return [file.path, new Set(imported.filter((path) => path !== file.path))];
    }),
  );
}

/** @param {Map<string, Set<string>>} imports */
function complaintsOfLayers(imports) {
  const unitOf = (/** @type {string} */ path) => posix.basename(path.split("/")[0] ?? "", ".rs");
  const layerOf = (/** @type {string} */ path) => layers.findIndex((layer) => layer.includes(unitOf(path)));
  const complaints = [...imports.keys()]
    .filter((path) => layerOf(path) < 0)
    .map((path) => `src/${path} has no place among the layers in scripts/test/rust-imports.mjs`);
  for (const [path, imported] of imports) {
    for (const other of imported) {
      if (unitOf(other) === unitOf(path) || layerOf(other) < layerOf(path)) continue;
      complaints.push(`src/${path} imports src/${other}, which is not below it`);
    }
  }
  return complaints;
}

/**
 * The shortest circle through each file that is in one, each circle once.
 * @param {Map<string, Set<string>>} imports
 * @returns {string[][]}
 */
function circles(imports) {
  /** @type {Map<string, string[]>} */
  const found = new Map();
  for (const start of imports.keys()) {
    const circle = shortestWay(imports, start);
    if (circle !== undefined) found.set([...circle].sort().join(), [...circle, start]);
  }
  return [...found.values()];
}

/**
 * From a file over its imports back to it.
 * @param {Map<string, Set<string>>} imports
 * @param {string} start
 */
function shortestWay(imports, start) {
  const ways = [[start]];
  const reached = new Set();
  for (const way of ways) {
    for (const next of imports.get(way.at(-1) ?? "") ?? []) {
      if (next === start) return way;
      if (reached.has(next)) continue;
      reached.add(next);
      ways.push([...way, next]);
    }
  }
  return undefined;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) checkRustImports();
