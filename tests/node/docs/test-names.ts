/** The names of the tests in a file, as documentation that says what a test proves may quote them. */
import { readFileSync } from "node:fs";
import ts from "typescript";
import { root } from "./examples.ts";

/** What names a test or a group of tests, also with more behind it: `test.each(…)("…")`. */
const NAMING = new Set(["test", "describe", "runPrograms"]);

/**
 * Whether a file of the project has a test of this name. Names in Rust are whole; in TypeScript a part is enough, as a
 * test may be in a group whose name its own sentence goes on from.
 */
export function hasTest(path: string, name: string): boolean {
  if (path.endsWith(".rs")) return new RegExp(`\\bfn ${name}\\(`).test(readFileSync(root + path, "utf8"));
  let titles = titlesByPath.get(path);
  if (!titles) titlesByPath.set(path, (titles = titlesIn(path, readFileSync(root + path, "utf8"))));
  return titles.some((title) => title.includes(name));
}

const titlesByPath = new Map<string, readonly string[]>();

/** Titles as they are written: `${…}` and `%s` stand for what is filled in. */
function titlesIn(path: string, text: string): readonly string[] {
  const titles: string[] = [];
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node)) {
      const [title] = node.arguments;
      if (title && isText(title) && NAMING.has(rootOf(node.expression))) titles.push(title.getText(file).slice(1, -1));
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  return titles;
}

function isText(node: ts.Node): boolean {
  return ts.isStringLiteralLike(node) || ts.isTemplateExpression(node);
}

/** Of `test.each(…)` it is `test`. */
function rootOf(callee: ts.Expression): string {
  if (ts.isCallExpression(callee) || ts.isPropertyAccessExpression(callee)) return rootOf(callee.expression);
  return callee.getText();
}
