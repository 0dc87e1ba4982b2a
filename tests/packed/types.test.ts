/** The installed package's types, with each module resolution of TypeScript. */
import { execFile } from "node:child_process";
import { copyFile, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, inject, test } from "vitest";

const modules = fileURLToPath(new URL("../../node_modules", import.meta.url));
const compilerOf = (version: "typescript" | "typescript-6") => join(modules, version, "bin/tsc");

const DOM = ["es2022", "dom", "dom.iterable"];
const checks = { strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false, types: [], noEmit: true };

test.each([
  { name: "node16-esm", type: "module", module: "node16", moduleResolution: "node16", lib: DOM, finds: ".d.ts" },
  { name: "node16-cjs", type: "commonjs", module: "node16", moduleResolution: "node16", lib: DOM, finds: ".d.cts" },
  { name: "nodenext", type: "module", module: "nodenext", moduleResolution: "nodenext", lib: DOM, finds: ".d.ts" },
  { name: "bundler", type: "module", module: "esnext", moduleResolution: "bundler", lib: DOM, finds: ".d.ts" },
  { name: "no-dom", type: "module", module: "nodenext", moduleResolution: "nodenext", lib: ["es2022"], finds: ".d.ts" },
  // TypeScript's old resolution, without exports.
  { name: "node10", type: "commonjs", module: "commonjs", moduleResolution: "node10", lib: DOM, finds: ".d.ts" },
])("an app with $name compiles", async ({ name, type, module, moduleResolution, lib, finds }) => {
  const app = join(inject("installed"), "types", name);
  await mkdir(app);
  await copyFile(join(app, "../consumer.ts"), join(app, "consumer.ts"));
  await writeFile(join(app, "package.json"), JSON.stringify({ name, type, private: true }));
  // TypeScript 7 does not have it, and apps have older ones.
  const isOld = moduleResolution === "node10";
  const deprecated = isOld ? { ignoreDeprecations: "6.0" } : {};
  const compilerOptions = { module, moduleResolution, target: "es2022", lib, ...deprecated };
  await writeFile(join(app, "tsconfig.json"), JSON.stringify({ compilerOptions: { ...compilerOptions, ...checks } }));
  const { code, stdout } = await compile(app, isOld ? "typescript-6" : "typescript");
  expect(errorsIn(stdout)).toEqual([]);
  expect(code).toBe(0);
  for (const entry of ["index", "formats", "slim", "server", "near-duplicates"])
    expect(stdout).toContain(`node_modules/seenguard/dist/${entry}${finds}\n`);
});

const errorsIn = (stdout: string) => stdout.split("\n").filter((line) => line.includes("error TS"));

async function compile(
  app: string,
  version: "typescript" | "typescript-6" = "typescript",
): Promise<{ code: unknown; stdout: string }> {
  try {
    const args = [compilerOf(version), "--project", app, "--listFiles"];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    return { code: 0, stdout };
  } catch (error) {
    const { code, stdout } = error as { code: unknown; stdout: string };
    return { code, stdout };
  }
}
