/** The installed package's types, by each way that TypeScript has of finding them. */
import { execFile } from "node:child_process";
import { copyFile, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, inject, test } from "vitest";

const compiler = fileURLToPath(new URL("../../node_modules/typescript/bin/tsc", import.meta.url));

test.each([
  { name: "node16-esm", type: "module", module: "node16", moduleResolution: "node16", finds: "dist/index.d.ts" },
  { name: "node16-cjs", type: "commonjs", module: "node16", moduleResolution: "node16", finds: "dist/index.d.cts" },
  { name: "nodenext", type: "module", module: "nodenext", moduleResolution: "nodenext", finds: "dist/index.d.ts" },
  { name: "bundler", type: "module", module: "esnext", moduleResolution: "bundler", finds: "dist/index.d.ts" },
])("an app with $name compiles", async ({ name, type, module, moduleResolution, finds }) => {
  const app = join(inject("installed"), "types", name);
  await mkdir(app);
  await copyFile(join(app, "../consumer.ts"), join(app, "consumer.ts"));
  await writeFile(join(app, "package.json"), JSON.stringify({ name, type, private: true }));
  const compilerOptions = { module, moduleResolution, target: "es2022", lib: ["es2022", "dom", "dom.iterable"] };
  const checks = { strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false, types: [], noEmit: true };
  await writeFile(join(app, "tsconfig.json"), JSON.stringify({ compilerOptions: { ...compilerOptions, ...checks } }));
  const { code, stdout } = await compile(app);
  expect(stdout.split("\n").filter((line) => line.includes("error TS"))).toEqual([]);
  expect(code).toBe(0);
  expect(stdout).toContain(join("node_modules/seenguard", finds));
});

async function compile(app: string): Promise<{ code: unknown; stdout: string }> {
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [compiler, "--project", app, "--listFiles"]);
    return { code: 0, stdout };
  } catch (error) {
    const { code, stdout } = error as { code: unknown; stdout: string };
    return { code, stdout };
  }
}
