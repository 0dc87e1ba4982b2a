/** The guard in Hermes, React Native's engine: without WebAssembly, encoders and a clock that only grows. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "esbuild";
import ts from "typescript-6";
import { beforeAll, expect, test } from "vitest";
import guava from "../vectors/guava.json";
import native from "../vectors/native.json";
import { inProject } from "../../scripts/lib/paths.mjs";
import type { Outcome } from "./hermes-app.js";
import { runHermes } from "../support/processes.js";

let outcome: Outcome;

beforeAll(async () => {
  const directory = await mkdtemp(join(tmpdir(), "seenguard-hermes-"));
  try {
    const script = join(directory, "app.js");
    await writeFile(script, await bundled());
    outcome = JSON.parse(await runHermes(inProject(), script)) as Outcome;
  } finally {
    await rm(directory, { recursive: true });
  }
}, 180_000);

/** One script of the app and the package, in the syntax that Hermes 0.12 supports: no classes, no block scopes. */
async function bundled(): Promise<string> {
  const entryPoint = inProject("tests", "engine", "hermes-app.ts");
  const { outputFiles } = await build({
    entryPoints: [entryPoint],
    bundle: true,
    format: "iife",
    conditions: ["react-native"],
    write: false,
  });
  const lowered = { target: "ES5", downlevelIteration: true, module: "ESNext" };
  const { options: compilerOptions } = ts.convertCompilerOptionsFromJson(lowered, inProject());
  const { outputText } = ts.transpileModule(outputFiles[0]?.text ?? "", { compilerOptions });
  return outputText;
}

test("Hermes lacks the globals that the package does not need", () => {
  expect(outcome.missing).toEqual(["WebAssembly", "TextEncoder", "TextDecoder", "performance", "structuredClone"]);
});

test("a guard runs the JavaScript engine without an error", () => {
  expect(outcome).toMatchObject({ engine: "js", errors: [] });
});

test("every shard of the native format and of Guava stops its items, and no others", () => {
  expect(outcome.native).toEqual(native.cases.map(({ answers }) => answers));
  expect(outcome.guava).toEqual(guava.cases.map(({ answers }) => answers));
});

test("impressions with any id are stopped, delivered, and stopped on the next visit", () => {
  const ids = ["a", "ü", "€", "😀", "滤"];
  expect(outcome).toMatchObject({ recorded: ids, fresh: ["new"], delivered: ids, nextVisit: ["new"] });
});
