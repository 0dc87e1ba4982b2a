/** `npm start`: its options; and the imports of scripts that run on a fresh clone. */
import { spawnSync } from "node:child_process";
import { build } from "esbuild";
import { expect, test } from "vitest";
import { inProject, root } from "../../scripts/lib/paths.mjs";

const start = (...args: string[]) =>
  spawnSync(process.execPath, [inProject("scripts", "start.mjs"), ...args], { encoding: "utf8" });

test("--help names the options, and starts nothing", () => {
  const { status, stdout, stderr } = start("--help");
  expect(stdout).toContain("usage: npm start [-- --redis | --kafka | --flink] [--broker HOST:PORT]");
  expect([status, stderr]).toEqual([0, ""]);
});

test("an unknown option is refused with the known ones", () => {
  const { status, stdout, stderr } = start("--flnk");
  expect(stderr).toMatch(/^Unknown option '--flnk'\n\nusage: npm start/);
  expect([status, stdout]).toEqual([2, ""]);
});

test.each([
  { args: ["--kafka", "--flink"], message: /^--redis, --kafka and --flink exclude each other\n\nusage/ },
  { args: ["--redis", "--broker", "kafka:9092"], message: /^--broker is for --kafka or --flink\n\nusage/ },
  { args: ["--kafka", "--broker", "kafka"], message: /^--broker is kafka: HOST:PORT\n\nusage/ },
])("$args is refused", ({ args, message }) => {
  const { status, stderr } = start(...args);
  expect(stderr).toMatch(message);
  expect(status).toBe(2);
});

test("an argument that is not an option is refused", () => {
  const { status, stderr } = start("flink");
  expect(stderr).toMatch(/^Unexpected argument 'flink'\n\nusage/);
  expect(status).toBe(2);
});

// Until set-up has installed packages, they have modules of Node alone.
const scripts = [
  "scripts/setup.mjs",
  "scripts/build.mjs",
  "scripts/test.mjs",
  "scripts/start.mjs",
  "scripts/release.mjs",
  "lab/benches/run.mjs",
  "lab/fuzz/run.mjs",
  "tests/simulation/programs/run.mjs",
  "lab/soak/run.mjs",
];

test.each(scripts)("%s imports no package before set-up", async (script) => {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [script],
    bundle: true,
    write: false,
    metafile: true,
    platform: "node",
    format: "esm",
    packages: "external",
  });
  const packages: string[] = [];
  const reached = new Set([script]);
  for (const file of reached) {
    // Modules imported on demand may need packages: they are imported after set-up.
    for (const { path, kind, external } of metafile.inputs[file]?.imports ?? []) {
      if (kind !== "import-statement") continue;
      if (external !== true) reached.add(path);
      else if (!path.startsWith("node:")) packages.push(`${file}: ${path}`);
    }
  }
  expect(packages).toEqual([]);
  expect(reached).toContain("scripts/lib/paths.mjs");
});
