/** docs/servers.md says what is so: every example is run by one of these tests, and its links lead somewhere. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";
import { promised } from "../node/readme/examples.ts";
import { testRustExamples } from "../node/readme/rust.ts";
import { examples, run, servers, workshop } from "./tools.ts";

const docs = fileURLToPath(new URL("../../docs/", import.meta.url));

test("every example is of a kind that is run", () => {
  const run = [
    "go seen",
    "go list",
    "java Seen",
    "java SeenFunction",
    "python seen",
    "js node",
    "rust",
    "python native",
  ];
  expect(examples.map(({ kind }) => kind)).toEqual(run);
});

test("the example in Node prints what it says", async () => {
  const directory = workshop();
  afterAll(directory.remove);
  const example = examples.find(({ kind }) => kind === "js node");
  if (example === undefined) throw new Error("there is no example");
  // Below the project, where the package is found by its name.
  writeFileSync(join(directory.path, "example.mjs"), example.code);
  expect(promised(example)).not.toBe("");
  expect(await run(process.execPath, ["example.mjs"], { cwd: directory.path })).toBe(promised(example));
});

test("the example in Rust runs", async () => {
  expect(await testRustExamples("docs/servers.md")).toContain("1 passed; 0 failed");
});

test("its links lead somewhere", () => {
  const slugsOf = (markdown: string) =>
    [...markdown.matchAll(/^#+ (.*)$/gm)].map(([, title = ""]) =>
      title
        .toLowerCase()
        .replace(/[^\w -]/g, "")
        .replaceAll(" ", "-"),
    );
  const targets = [...servers.matchAll(/\]\(([^)]+)\)/g)].map(([, target = ""]) => target);
  expect(targets.length).toBeGreaterThan(10);
  for (const target of targets) {
    const [path = "", slug] = target.split("#");
    expect(existsSync(join(docs, path)), target).toBe(true);
    if (slug !== undefined)
      expect(slugsOf(path === "" ? servers : readFileSync(join(docs, path), "utf8")), target).toContain(slug);
  }
});
