/** The published contract: contract.d.ts is what other projects compile against, and what compiles against it compiles against the package. */
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

const againstContract = () =>
  ts.createProgram([here("consumer.ts")], { ...options, paths: { seenguard: [here("contract.d.ts")] } });
const againstPackage = (...files: string[]) => ts.createProgram(files.map(here), options);

describe("a consumer that uses everything in the contract", () => {
  test("compiles against the contract", () => {
    expect(complaintsOf(againstContract())).toEqual([]);
  });

  test("compiles against the package", () => {
    const program = againstPackage("consumer.ts");
    expect(complaintsOf(program)).toEqual([]);
    expect(program.getSourceFile(join(root, "dist/index.d.ts"))).toBeDefined();
  });

  test("leaves nothing of the contract out", () => {
    const program = againstContract();
    const used = usedDeclarations(program, sourceOf(program, "consumer.ts"));
    const members = declaredMembers(sourceOf(program, "contract.d.ts"));
    expect(members.length).toBeGreaterThan(100);
    expect(members.filter((member) => !used.has(member)).map(nameOf)).toEqual([]);
  });
});

test("the package's declarations are a superset of the contract", () => {
  expect(complaintsOf(againstPackage("superset.ts"))).toEqual([]);
});

function complaintsOf(program: ts.Program): string[] {
  return ts.getPreEmitDiagnostics(program).map(({ file, start = 0, messageText }) => {
    const line =
      file === undefined ? "" : `${file.fileName}:${String(file.getLineAndCharacterOfPosition(start).line + 1)}: `;
    return line + ts.flattenDiagnosticMessageText(messageText, "\n");
  });
}

function sourceOf(program: ts.Program, name: string): ts.SourceFile {
  const source = program.getSourceFile(here(name));
  if (source === undefined) throw new Error(`${name} is not part of the program`);
  return source;
}

/** What has a name in the contract: what it exports, and every member of it; not what a type parameter must have. */
function declaredMembers(contract: ts.SourceFile): ts.NamedDeclaration[] {
  return everyNode(contract).filter(
    (node): node is ts.NamedDeclaration =>
      !ts.findAncestor(node, ts.isTypeParameterDeclaration) &&
      (ts.isInterfaceDeclaration(node) ||
        ts.isTypeAliasDeclaration(node) ||
        ts.isClassDeclaration(node) ||
        ts.isPropertySignature(node) ||
        ts.isPropertyDeclaration(node) ||
        ts.isMethodSignature(node) ||
        ts.isMethodDeclaration(node)),
  );
}

function nameOf(declaration: ts.NamedDeclaration): string {
  const owner = ts.isSourceFile(declaration.parent) ? "" : `${declaration.parent.getText().slice(0, 40)}… `;
  return owner + (declaration.name?.getText() ?? "");
}

/** The declarations that the names in a file mean: by reference, or as properties of object literals and patterns whose type is known. */
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
