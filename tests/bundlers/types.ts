/** An app in TypeScript that has one framework alone. */
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { expect, inject, onTestFinished } from "vitest";

/** The package that has each framework's types. */
const FRAMEWORKS = { react: "@types/react", vue: "vue", svelte: "svelte" };
const COMPILERS = ["typescript-5.0", "typescript-newest"];

const compilerOptions = {
  ...{ module: "esnext", moduleResolution: "bundler", target: "es2022", lib: ["es2022", "dom", "dom.iterable"] },
  ...{ strict: true, skipLibCheck: false, types: [], noEmit: true },
};

/** Compiles `<framework>.ts` of the app where nothing but the package and that framework can be found. */
export async function expectTypes(directory: string): Promise<void> {
  const tool = (path: string) => join(inject("tools"), "node_modules", path);
  for (const [name, framework] of Object.entries(FRAMEWORKS)) {
    const app = await mkdtemp(join(tmpdir(), `seenguard-types-${name}-`));
    onTestFinished(() => rm(app, { recursive: true, force: true }));
    const modules = join(app, "node_modules");
    await cp(join(inject("installed"), "node_modules/seenguard"), join(modules, "seenguard"), { recursive: true });
    await mkdir(dirname(join(modules, framework)), { recursive: true });
    await symlink(tool(framework), join(modules, framework));
    await cp(join(directory, `${name}.ts`), join(app, "app.ts"));
    await writeFile(join(app, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["app.ts"] }));
    for (const compiler of COMPILERS) await compile(tool(`${compiler}/bin/tsc`), app);
  }
}

/** Expects no error in the app and in the package. Errors in a framework's own types do not count. */
async function compile(compiler: string, app: string): Promise<void> {
  const args = [compiler, "--project", app, "--pretty", "false"];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: app }).catch(
    (error: unknown) => error as { stdout: string },
  );
  const own = /^(app\.ts|node_modules\/seenguard\/|error)/;
  expect(stdout.split("\n").filter((line) => own.test(line))).toEqual([]);
}
