/** examples/news: how much of it is about Seenguard. */
import { readdirSync, readFileSync } from "node:fs";
import ts from "typescript-6";
import { expect, test } from "vitest";
import { readPage, root } from "../docs/examples.ts";

const MOST_LINES = 36;

/** What the product itself calls what it has of Seenguard, and what it passes on for it. */
const OWN_NAMES = [
  ...["guard", "useGuard", "useSeenStory", "idsOf", "reset"],
  ...["seen", "report", "reports", "/api/seen", "bad-report"],
];

interface Source {
  readonly path: string;
  readonly lines: readonly string[];
  /** Indices of lines that name something of Seenguard. */
  readonly naming: ReadonlySet<number>;
}

/** A line counts once, whatever it names. An import from the product's own files counts if it brings nothing else. */
function readSource(path: string): Source {
  const text = readFileSync(`${root}examples/news/${path}`, "utf8");
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.ES2022, true);
  const names = new Set([...OWN_NAMES, ...file.statements.flatMap(namesFromPackage)]);
  const naming = new Set<number>();
  const isNamed = (node: ts.Node) => (ts.isIdentifier(node) || ts.isStringLiteral(node)) && names.has(node.text);
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) && !isFromPackage(node) && !importedNames(node).every((name) => names.has(name)))
      return;
    if (isNamed(node) || (ts.isImportDeclaration(node) && isFromPackage(node)))
      naming.add(file.getLineAndCharacterOfPosition(node.getStart()).line);
    ts.forEachChild(node, visit);
  };
  visit(file);
  return { path, lines: text.split("\n"), naming };
}

const isFromPackage = ({ moduleSpecifier }: ts.ImportDeclaration) => /^.seenguard\b/.test(moduleSpecifier.getText());

function importedNames({ importClause }: ts.ImportDeclaration): string[] {
  const bindings = importClause?.namedBindings;
  return bindings && ts.isNamedImports(bindings) ? bindings.elements.map(({ name }) => name.text) : [""];
}

function namesFromPackage(statement: ts.Statement): string[] {
  return ts.isImportDeclaration(statement) && isFromPackage(statement) ? importedNames(statement) : [];
}

const sources = ["client", "server", "shared"].flatMap((side) =>
  readdirSync(`${root}examples/news/${side}`)
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => readSource(`${side}/${name}`)),
);

test(`under ${String(MOST_LINES)} lines of the news product are about Seenguard`, () => {
  const lines = sources.flatMap(({ path, lines, naming }) =>
    [...naming].toSorted((a, b) => a - b).map((line) => `${path}:${String(line + 1)}: ${lines[line]?.trim() ?? ""}`),
  );
  const all = sources.flatMap(({ lines }) => lines.filter((line) => line.trim() !== ""));
  console.log(`${lines.join("\n")}\n${String(lines.length)} of ${String(all.length)} lines are about Seenguard`);
  expect(lines.length).toBeGreaterThan(20);
  expect(lines.length).toBeLessThan(MOST_LINES);
  expect(readPage("docs/frameworks.md").text).toContain(`, ${String(lines.length)} are about`);
});
