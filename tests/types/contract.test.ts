/** The contract, js/types: all of it is used by a consumer, which compiles against the package. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, test } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const here = (name: string) => join(root, "tests/types", name);

const options: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.Bundler,
  lib: ["lib.es2022.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"],
  types: [],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noEmit: true,
};
const withoutDom: ts.CompilerOptions = { ...options, lib: ["lib.es2022.d.ts"], skipLibCheck: false };

const consumers = {
  seenguard: "consumer.ts",
  server: "server-consumer.ts",
  "near-duplicates": "near-duplicates-consumer.ts",
  react: "react-consumer.ts",
  testing: "testing-consumer.ts",
} as const;
type Contract = keyof typeof consumers;
const contracts = Object.keys(consumers) as Contract[];
const specifierOf = (entry: Contract) => (entry === "seenguard" ? entry : `seenguard/${entry}`);
const declarationsOf = (entry: Contract) => join(root, `js/types/${entry}.d.ts`);

const againstDeclarations = (entry: Contract) =>
  ts.createProgram([here(consumers[entry])], {
    ...options,
    paths: Object.fromEntries(contracts.map((each) => [specifierOf(each), [declarationsOf(each)]])),
  });
const againstPackage = (files: readonly string[], others = options) => ts.createProgram(files.map(here), others);

describe.each(contracts)("a consumer that uses everything of %s", (entry) => {
  test("compiles against the package", () => {
    expect(complaintsOf(againstPackage([consumers[entry]]))).toEqual([]);
  });

  test("leaves nothing of it out", () => {
    const program = againstDeclarations(entry);
    const used = usedDeclarations(program, sourceOf(program, here(consumers[entry])));
    const members = declaredMembers(sourceOf(program, declarationsOf(entry)));
    expect(members.length).toBeGreaterThan(["testing", "near-duplicates"].includes(entry) ? 2 : 6);
    expect(members.filter((member) => !used.has(member)).map(nameOf)).toEqual([]);
  });
});

test("calls marked as refused do not compile", () => {
  expect(complaintsOf(againstPackage(["refused.ts"]))).toEqual([]);
});

test("the declarations of every entry compile without the DOM's types", () => {
  expect(
    complaintsOf(againstPackage(["without-dom.ts", "server-consumer.ts", "near-duplicates-consumer.ts"], withoutDom)),
  ).toEqual([]);
});

function complaintsOf(program: ts.Program): string[] {
  return ts.getPreEmitDiagnostics(program).map(({ file, start = 0, messageText }) => {
    const line =
      file === undefined ? "" : `${file.fileName}:${String(file.getLineAndCharacterOfPosition(start).line + 1)}: `;
    return line + ts.flattenDiagnosticMessageText(messageText, "\n");
  });
}

function sourceOf(program: ts.Program, path: string): ts.SourceFile {
  program.getTypeChecker(); // which links each node to its parent
  const source = program.getSourceFile(path);
  if (source === undefined) throw new Error(`${path} is not part of the program`);
  return source;
}

/** What has a name for callers: what is exported, and every member of it; not what a type parameter must have. */
function declaredMembers(declarations: ts.SourceFile): ts.NamedDeclaration[] {
  return declarations.statements.filter(isExported).flatMap(everyNode).filter(isMember);
}

function isExported(statement: ts.Statement): boolean {
  return (
    ts.canHaveModifiers(statement) &&
    (ts.getModifiers(statement) ?? []).some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)
  );
}

function isMember(node: ts.Node): node is ts.NamedDeclaration {
  return (
    ts.findAncestor(node, ts.isTypeParameterDeclaration) === undefined &&
    (ts.isInterfaceDeclaration(node) ||
      ts.isTypeAliasDeclaration(node) ||
      ts.isClassDeclaration(node) ||
      ts.isFunctionDeclaration(node) ||
      ts.isPropertySignature(node) ||
      ts.isPropertyDeclaration(node) ||
      ts.isMethodSignature(node) ||
      ts.isMethodDeclaration(node))
  );
}

/** Its name below those of what it belongs to: `GuardStats.pending`. */
function nameOf(declaration: ts.Node): string {
  const names: string[] = [];
  for (let node = declaration; !ts.isSourceFile(node); node = node.parent)
    if (isMember(node) && node.name) names.unshift(node.name.getText());
  return names.join(".");
}

/**
 * The declarations that the names in a file mean: by reference, or as properties of object literals and patterns whose
 * type is known.
 */
function usedDeclarations(program: ts.Program, file: ts.SourceFile): Set<ts.Node> {
  const checker = program.getTypeChecker();
  const symbols = everyNode(file).flatMap((node) => {
    if (ts.isBindingElement(node)) return [checker.getTypeAtLocation(node.parent).getProperty(propertyName(node))];
    if (!ts.isIdentifier(node)) return [];
    const symbol = checker.getSymbolAtLocation(node);
    if (symbol === undefined) return [];
    const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
    return [target, ...promisedProperties(checker, node)];
  });
  return new Set(symbols.flatMap((symbol) => symbol?.declarations ?? []));
}

function propertyName(element: ts.BindingElement): string {
  return (element.propertyName ?? element.name).getText();
}

/** An object literal's property, or a class's member, stands for the property of the type that is asked for there. */
function promisedProperties(checker: ts.TypeChecker, name: ts.Identifier): (ts.Symbol | undefined)[] {
  const { parent } = name;
  if (ts.isObjectLiteralExpression(parent.parent)) {
    const type = checker.getContextualType(parent.parent);
    return (type?.isUnion() ? type.types : [type]).map((each) => each?.getProperty(name.text));
  }
  return [];
}

function everyNode(node: ts.Node): ts.Node[] {
  const nodes: ts.Node[] = [];
  const visit = (each: ts.Node) => {
    nodes.push(each);
    ts.forEachChild(each, visit);
  };
  visit(node);
  return nodes;
}
