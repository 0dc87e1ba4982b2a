/**
 * The README's examples. Behind an example's language stands where it runs:
 *
 *     ```js node     in Node; what it prints is in its own comments, `// → …`, in their order
 *     ```js redis    the same, with REDIS_URL naming a Redis
 *     ```js page     in Chromium, on the page that pages.ts serves; js, ts and tsx alike
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../../..", import.meta.url));
export const readme = readFileSync(`${root}README.md`, "utf8");

export interface Example {
  /** Where it begins in the README. */
  readonly line: number;
  /** Such as "js node". */
  readonly kind: string;
  readonly code: string;
}

/** The examples of a page of documentation. */
export function examplesIn(page: string): Example[] {
  return [...page.matchAll(/^```(.*)\n([^]*?)^```$/gm)].map(({ index, 1: kind = "", 2: code = "" }) => ({
    line: page.slice(0, index).split("\n").length,
    kind,
    code,
  }));
}

export const examples: readonly Example[] = examplesIn(readme);

export const examplesOf = (...kinds: string[]): Example[] => examples.filter(({ kind }) => kinds.includes(kind));

/** What the example says that it prints. */
export function promised({ code }: Example): string {
  return [...code.matchAll(/\/\/ → (.*)$/gm)].map(([, output = ""]) => `${output}\n`).join("");
}

/** Writes an example where the package is found by its name, as in an app. Returns the file. */
export function written({ line, kind, code }: Example): string {
  const directory = `${root}target/readme`;
  mkdirSync(directory, { recursive: true });
  const ending = { js: "mjs", ts: "ts", tsx: "tsx" }[kind.split(" ")[0] ?? ""] ?? "txt";
  const file = `${directory}/line-${String(line)}.${ending}`;
  writeFileSync(file, code);
  return file;
}
