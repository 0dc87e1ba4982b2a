/**
 * The documentation's pages, and the examples in them and in the public declarations. After an example's language
 * comes where it runs:
 *
 *     ```js node     in Node; its comments `// → …` are its output, in their order
 *     ```js redis    the same, with REDIS_URL naming a Redis
 *     ```js express  a server; hono alike: servers.test.ts runs them
 *     ```ts accounts in Chromium, `js offline` alike: tests/requests runs them
 *     ```js start/server.js  that file of the app of docs/start.md: start.test.ts runs it; js and html alike
 *     ```js page     in Chromium, on the page that browser.ts serves; js, ts and tsx alike
 *     ```vue adapter in Chromium, on a page that tests/hooks serves; tsx, vue and svelte alike
 *     ```js shell    in Chromium, in a hybrid app: tests/shells; ts alike
 *     ```js vitest   by that test runner; tests/hooks runs it
 *     ```js lit/src/seen-feed.js  a part of that file of an app in tests/bundlers/apps, which runs there
 *     ```ts client/urql  a part of that recipe in tests/requests/recipes.ts, which clients.test.ts runs
 */
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../..", import.meta.url));

export interface Page {
  /** Below the project's root, such as "docs/api.md". */
  readonly path: string;
  readonly text: string;
}

export interface Example {
  readonly page: string;
  /** Its first line in the page. */
  readonly line: number;
  /** Such as "js node". */
  readonly kind: string;
  readonly code: string;
}

export function readPage(path: string): Page {
  return { path, text: readFileSync(root + path, "utf8") };
}

const guides = readdirSync(`${root}docs`)
  .filter((name) => name.endsWith(".md"))
  .map((name) => `docs/${name}`);

/** Every page of the documentation. */
export const pages: readonly Page[] = [
  ...["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", ...guides],
  ...["lab/benches/README.md", "lab/README.md", "scripts/README.md", "tests/README.md", "www/README.md"],
].map(readPage);

export function examplesIn({ path, text }: Page): Example[] {
  return [...text.matchAll(/^```(.*)\n([^]*?)^```$/gm)].map(({ index, 1: kind = "", 2: code = "" }) => ({
    page: path,
    line: text.slice(0, index).split("\n").length,
    kind,
    code,
  }));
}

/** The public declarations without the margin of their comments: they have examples, too. */
const declarations = readdirSync(`${root}js/types`)
  .filter((name) => name.endsWith(".d.ts"))
  .map((name) => readPage(`js/types/${name}`))
  .map(({ path, text }) => ({ path, text: text.replace(/^ *\* ?/gm, "") }));

export const examples: readonly Example[] = [...pages, ...declarations].flatMap(examplesIn);

export const examplesOf = (...kinds: string[]): Example[] => examples.filter(({ kind }) => kinds.includes(kind));

/** The one example of a kind that contains `part`. */
export function exampleWith(kind: string, part: string): Example {
  const [found, ...others] = examplesOf(kind).filter(({ code }) => code.includes(part));
  if (found === undefined || others.length > 0)
    throw new Error(`${String(others.length + Number(found !== undefined))} examples "${kind}" contain ${part}`);
  return found;
}

/** The output in the example's comments. */
export function expectedOutput({ code }: Example): string {
  return [...code.matchAll(/\/\/ → (.*)$/gm)].map(([, output = ""]) => `${output}\n`).join("");
}

/** Writes an example to a file where the package is found by its name. Returns the file. */
export function writeExample({ page, line, kind, code }: Example): string {
  const directory = `${root}target/docs`;
  mkdirSync(directory, { recursive: true });
  const extension =
    { js: "mjs", jsx: "jsx", ts: "ts", tsx: "tsx", vue: "vue", svelte: "svelte" }[kind.split(" ")[0] ?? ""] ?? "txt";
  const file = `${directory}/${page.replace(/\W+/g, "-")}-line-${String(line)}.${extension}`;
  writeFileSync(file, code);
  return file;
}
