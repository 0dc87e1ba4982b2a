// @vitest-environment node
/** The examples of docs/debugging.md pass in their test runners. */
import { execFile } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { promisify } from "node:util";
import { beforeAll, expect, test } from "vitest";
import { exampleWith, root } from "../docs/examples.js";

const run = promisify(execFile);
/** An app that has the package installed. */
const app = `${root}target/docs/test-app/`;

beforeAll(() => {
  rmSync(app, { recursive: true, force: true });
  mkdirSync(`${app}node_modules`, { recursive: true });
  for (const name of ["vitest", "vite", "jest-environment-jsdom"]) linkPackage(name, `${root}node_modules/${name}`);
  linkPackage("seenguard", root);
  writeFileSync(`${app}package.json`, '{ "private": true, "type": "module" }');
  writeFileSync(`${app}vitest.config.js`, 'export default { test: { include: ["*.test.mjs"] } };');
  writeFileSync(`${app}feed.test.mjs`, exampleWith("js vitest", "openTestGuard").code);
  writeFileSync(`${app}app.test.cjs`, exampleWith("js jest", "openTestGuard").code);
});

function linkPackage(name: string, target: string): void {
  symlinkSync(target, `${app}node_modules/${name}`, "dir");
}

test("in Vitest", { timeout: 60_000 }, async () => {
  const { stdout } = await run(process.execPath, [`${root}node_modules/vitest/vitest.mjs`, "run", "--root", app], {
    cwd: app,
    env: { PATH: process.env.PATH },
  });
  expect(stdout).toMatch(/3 passed/);
});

test("in Jest with jsdom", { timeout: 60_000 }, async () => {
  const options = ["--rootDir", app, "--testMatch", "**/*.test.cjs", "--transform", "{}"];
  const { stderr } = await run(process.execPath, [`${root}node_modules/jest/bin/jest.js`, ...options], {
    cwd: app,
    env: { PATH: process.env.PATH },
  });
  expect(stderr).toMatch(/Tests: +1 passed/);
  expect(stderr).not.toContain("seenguard:");
});
