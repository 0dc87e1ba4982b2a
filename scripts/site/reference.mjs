/** Generates the API reference: a Markdown page for each entry of the package, from its declarations in js/types/. */
import { readFileSync } from "node:fs";
import ts from "typescript-6";
import { entries } from "../build/entries.mjs";
import { inProject } from "../lib/paths.mjs";

/** @typedef {{ readonly name: string, readonly nodes: ts.NamedDeclaration[] }} Group overloads are one */

/** @returns {ReadonlyMap<string, string>} by the page's name */
export function referencePages() {
  const names = [...new Set(entries.map(({ name, types = name }) => types))];
  return new Map(names.map((name) => [name, pageOf(name)]));
}

/** @param {string} name */
function pageOf(name) {
  const path = inProject("js", "types", `${name}.d.ts`);
  const text = readFileSync(path, "utf8");
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const title = name === "seenguard" ? name : `seenguard/${name}`;
  const [intro] = ts.getLeadingCommentRanges(text, 0) ?? [];
  return [
    `---\noutline: 2\n---\n\n# ${title} {#entry}`,
    intro === undefined ? "" : prose(uncommented(text.slice(intro.pos, intro.end))),
    ...reexports(file),
    ...grouped(file.statements.filter(isExported)).map(declaration),
  ]
    .filter((part) => part !== "")
    .join("\n\n")
    .concat("\n");
}

/** @param {ts.Statement} statement */
function isExported(statement) {
  return ts.canHaveModifiers(statement) && ts.getModifiers(statement)?.[0]?.kind === ts.SyntaxKind.ExportKeyword;
}

/** The re-exports of an entry. @param {ts.SourceFile} file */
function reexports(file) {
  const imported = new Map(
    file.statements.filter(ts.isImportDeclaration).flatMap(({ importClause, moduleSpecifier }) => {
      const bindings = importClause?.namedBindings;
      if (bindings === undefined || !ts.isNamedImports(bindings)) return [];
      return bindings.elements.map(({ name }) => /** @type {const} */ ([name.text, entryOf(moduleSpecifier)]));
    }),
  );
  return file.statements.filter(ts.isExportDeclaration).map(({ exportClause, moduleSpecifier }) => {
    const from = moduleSpecifier === undefined ? undefined : entryOf(moduleSpecifier);
    if (exportClause === undefined || !ts.isNamedExports(exportClause))
      return `It has all of [\`${from === "seenguard" ? from : `seenguard/${String(from)}`}\`](./${String(from)}.md).`;
    const names = exportClause.elements.map(
      ({ name: { text } }) => `[\`${text}\`](./${from ?? imported.get(text) ?? ""}.md#${text.toLowerCase()})`,
    );
    return `It has ${names.join(", ")}, too.`;
  });
}

/** @param {ts.Expression} specifier */
function entryOf(specifier) {
  return specifier.getText().replace(/^"\.\/|\.js"$/g, "");
}

/**
 * Groups declarations by name, in their order.
 * @param {readonly ts.Node[]} nodes
 */
function grouped(nodes) {
  /** @type {Map<string, ts.Node[]>} */
  const groups = new Map();
  for (const node of nodes) {
    const name = nameOf(node);
    if (name !== undefined) groups.set(name, [...(groups.get(name) ?? []), node]);
  }
  return [...groups].map(([name, all]) => ({ name, nodes: all }));
}

/** The name of a member; `undefined` for a private constructor. @param {ts.Node} node @returns {string | undefined} */
function nameOf(node) {
  if (ts.isVariableStatement(node)) return node.declarationList.declarations[0]?.name.getText();
  return /** @type {ts.NamedDeclaration} */ (node).name?.getText();
}

/** @param {{ name: string, nodes: readonly ts.Node[] }} group */
function declaration({ name, nodes }) {
  const [node] = nodes;
  const hasMembers = node !== undefined && (ts.isClassDeclaration(node) || ts.isInterfaceDeclaration(node));
  const parts = [`## ${name}`, ...nodes.map(documentation)];
  if (!hasMembers) return [...parts, fence(nodes)].filter(Boolean).join("\n\n");
  const head = node
    .getText()
    .slice(0, node.members.pos - node.getStart())
    .trim();
  const members = grouped(node.members).map((group) => member(name, group));
  return [...parts, `\`\`\`ts\n${head} … }\n\`\`\``, ...members].filter(Boolean).join("\n\n");
}

/**
 * @param {string} owner
 * @param {{ name: string, nodes: readonly ts.Node[] }} group
 */
function member(owner, { name, nodes }) {
  const parts = [
    `### ${name} {#${owner.toLowerCase()}-${name.toLowerCase()}}`,
    fence(nodes),
    ...nodes.map(documentation),
  ];
  return parts.filter(Boolean).join("\n\n");
}

/** @param {readonly ts.Node[]} nodes */
function fence(nodes) {
  return `\`\`\`ts\n${nodes.map((node) => node.getText().replace(/\n {2}/g, "\n")).join("\n")}\n\`\`\``;
}

/** The comment before a declaration, as Markdown. @param {ts.Node} node */
function documentation(node) {
  const comments = ts.getJSDocCommentsAndTags(node).filter(ts.isJSDoc);
  const text = comments.map(({ comment }) => prose(ts.getTextOfJSDocComment(comment) ?? ""));
  const defaults = ts
    .getJSDocTags(node)
    .filter(({ tagName }) => tagName.text === "default")
    .map(({ comment }) => `Default: \`${ts.getTextOfJSDocComment(comment) ?? ""}\`.`);
  return [...text, ...defaults].filter(Boolean).join("\n\n");
}

/** @param {string} comment */
function uncommented(comment) {
  return comment.replace(/^\/\*\*|\*\/$/g, "").replace(/^ *\* ?/gm, "");
}

/** Escapes markup outside of code. @param {string} text */
function prose(text) {
  return text
    .trim()
    .split(/(`[^`]*`)/)
    .map((part) => (part.startsWith("`") ? part : part.replaceAll("<", "&lt;").replaceAll("{{", "&#123;&#123;")))
    .join("");
}
