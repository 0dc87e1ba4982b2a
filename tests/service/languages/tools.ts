/** Compiles and runs examples with the real compilers and libraries, in a temporary directory. */
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { SeenGuard, type Snapshot } from "seenguard/formats";
import { expect } from "vitest";
import { goBloom, goLibrary, goXxhash, guavaJar, lz4Jar, python } from "../../../scripts/lib/servers.mjs";
import { examplesIn, readPage, type Example } from "../../docs/examples.ts";
import { heldBy } from "../../support/node.js";
import { ids as allIds } from "../../vectors/foreign.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
/** The examples in languages that the package is not written in. */
export const foreignExamples: readonly Example[] = ["docs/other-languages.md", "examples/kafka/README.md"]
  .flatMap((path) => examplesIn(readPage(path)))
  .filter(({ kind }) => /^(?:go|java|python) /.test(kind));

/** Without lone surrogates, which are not Unicode: Java and Python each encode them differently. */
export const ids = allIds.filter((id) => !/\p{Surrogate}/u.test(id));

/** The one example of a kind, such as "go snapshot". */
export function exampleOf(kind: string): string {
  const found = foreignExamples.filter((example) => example.kind === kind);
  const [only] = found;
  if (only === undefined || found.length > 1) throw new Error(`there are ${String(found.length)} examples of ${kind}`);
  return only.code;
}

/** A new temporary directory below the project, and how to remove it. */
export function makeTempDirectory(): { path: string; remove: () => void } {
  mkdirSync(join(root, "target"), { recursive: true });
  const path = mkdtempSync(join(root, "target", "servers-"));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

/** Runs a program and resolves to its standard output. Rejects with its whole output if it fails. */
export function run(
  command: string,
  args: readonly string[],
  options: { cwd: string; env?: Record<string, string>; input?: string },
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: options.cwd, env: { ...process.env, ...options.env } });
    let [stdout, stderr] = ["", ""];
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => (stdout += chunk));
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => (stderr += chunk));
    child.stdin.on("error", () => undefined).end(options.input ?? "");
    child.once("error", reject).once("close", (status) => {
      if (status === 0) resolve(stdout);
      else reject(new Error(`${command} ended with ${String(status)}\n${stderr}\n${stdout}`));
    });
  });
}

const drivers = examplesIn(readPage("tests/service/languages/drivers.md"));

/** Writes a program of drivers.md. Returns its path. */
function writeDriver(file: string, path: string): string {
  const driver = drivers.find(({ kind }) => kind.endsWith(` ${file}`));
  if (driver === undefined) throw new Error(`drivers.md has no ${file}`);
  writeFileSync(path, driver.code);
  return path;
}

/** Compiles Go examples with a driver, against the system's libraries: nothing is downloaded. Returns the program. */
export async function buildGo(directory: string, examples: readonly string[], driver: string): Promise<string> {
  const path = join(directory, `${driver}-path`);
  // Without modules, the import path is a directory's.
  const link = (name: string, version: string, library: string | undefined) => {
    const parent = join(path, "src/github.com", name);
    mkdirSync(parent, { recursive: true });
    symlinkSync(library ?? "", join(parent, version));
  };
  link("bits-and-blooms/bloom", "v3", goBloom());
  link("cespare/xxhash", "v2", goXxhash());
  const sources = join(path, "src/server");
  mkdirSync(sources, { recursive: true });
  for (const example of examples) writeFileSync(join(sources, `${example.replace(" ", "_")}.go`), exampleOf(example));
  writeDriver(driver, join(sources, "main.go"));
  const system = /^(.*)\/src\//.exec(goLibrary("github.com/bits-and-blooms/bitset") ?? "")?.[1] ?? "";
  const env = { GO111MODULE: "off", GOFLAGS: "", GOPATH: [path, system].join(delimiter) };
  const program = join(directory, driver.replace(/\.go$/, ""));
  await run("go", ["vet", "server"], { cwd: sources, env });
  await run("go", ["build", "-o", program, "server"], { cwd: sources, env });
  return program;
}

/** Compiles a Go example with the driver in a directory that has its go.mod: Go downloads what that names, once. */
export async function buildGoModule(directory: string, example: string, driver: string): Promise<string> {
  const sources = join(directory, driver);
  mkdirSync(sources);
  for (const file of ["go.mod", "go.sum", "produce.go"]) writeDriver(`${driver}/${file}`, join(sources, file));
  writeFileSync(join(sources, "example.go"), exampleOf(example));
  const env = { GO111MODULE: "on", GOFLAGS: "-buildvcs=false" };
  await run("go", ["vet", "."], { cwd: sources, env });
  await run("go", ["build", "-o", "program", "."], { cwd: sources, env });
  return join(sources, "program");
}

/**
 * Compiles Java examples with a driver, and with more jars than the page's examples share. Returns a function that runs
 * it with an input, and arguments if it has any.
 */
export async function buildJava(
  directory: string,
  classes: readonly string[],
  driver: string,
  jars: readonly string[] = [],
): Promise<(input: string, args?: readonly string[]) => Promise<string>> {
  const files = classes.map((name) => {
    const file = join(directory, `${name}.java`);
    writeFileSync(file, exampleOf(`java ${name}`));
    return file;
  });
  const libraries = [guavaJar() ?? "", lz4Jar() ?? "", ...jars];
  const classPath = [directory, ...libraries].join(delimiter);
  // Debian's Guava jar refers to annotations that are not installed.
  const flags = [
    "-encoding",
    "UTF-8",
    "-Xlint:all,-classfile,-processing,-serial,-path",
    "-proc:none",
    "-cp",
    classPath,
    "-d",
    directory,
  ];
  await run("javac", [...flags, ...files, writeDriver(`${driver}.java`, join(directory, `${driver}.java`))], {
    cwd: directory,
  });
  const start = ["-XX:TieredStopAtLevel=1", "-cp", classPath, driver];
  return (input, args = []) => run("java", [...start, ...args], { cwd: directory, input });
}

/** Writes a Python example where the driver imports it. Returns a function that runs the driver. */
export function preparePython(directory: string, example: string, driver: string) {
  writeFileSync(join(directory, `${example}.py`), exampleOf(`python ${example}`));
  const program = writeDriver(driver, join(directory, driver));
  const env = { PYTHONDONTWRITEBYTECODE: "1" };
  return (args: readonly string[], input: string): Promise<string> =>
    run(python(), ["-W", "error", program, ...args], { cwd: directory, env, input });
}

/**
 * Expects that a device with a server's whole snapshot resolves the references that it then gets. Returns the whole
 * snapshot.
 */
export async function expectReferences<T extends Snapshot>(serve: (held: string) => Promise<T>): Promise<T> {
  const guard = await SeenGuard.open({ namespace: `servers:${String(Math.random())}`, storage: "none" });
  const whole = await serve("");
  expect(guard.apply(whole)).toMatchObject({ applied: true });
  const names = heldBy(guard).split(".");
  expect(names).toHaveLength(whole.shards.length);
  const references = names.map((name) => `~${name}`);

  const [oldest = ""] = names.slice(-1);
  for (const held of [oldest, `0123456789ab.${oldest}.x`]) {
    const { shards } = await serve(held);
    expect(shards).toEqual([...whole.shards.slice(0, -1), ...references.slice(-1)]);
  }
  const refreshed = await serve(heldBy(guard));
  expect(refreshed).toEqual({ ...whole, shards: references });
  expect(guard.apply(refreshed)).toMatchObject({ applied: true });
  await guard.close();
  return whole;
}

export const base64 = (text: string): string => Buffer.from(text).toString("base64");

/** The result of a guard with this snapshot for each id. */
export async function answersOf(snapshot: Snapshot, queried: readonly string[] = ids): Promise<boolean[]> {
  const guard = await SeenGuard.open({ namespace: `servers:${String(Math.random())}`, storage: "none" });
  const report = guard.apply(snapshot);
  if (!report.applied) throw report.error ?? new Error(report.reason);
  const answers = queried.map((id) => guard.explain(id).seen);
  await guard.close();
  return answers;
}
