/** The scripts that begin on a fresh clone: until set-up has installed packages, they have Node's own modules alone. */
import { build } from "esbuild";
import { expect, test } from "vitest";
import { root } from "../../scripts/lib/paths.mjs";

const scripts = [
  "scripts/setup.mjs",
  "scripts/build.mjs",
  "scripts/test.mjs",
  "scripts/start.mjs",
  "lab/benches/run.mjs",
  "lab/fuzz/run.mjs",
  "tests/simulation/programs/run.mjs",
  "lab/soak/run.mjs",
];

test.each(scripts)("%s imports no package before it has set up", async (script) => {
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
    // What is imported on demand may need packages: it is asked for after set-up.
    for (const { path, kind, external } of metafile.inputs[file]?.imports ?? []) {
      if (kind !== "import-statement") continue;
      if (external !== true) reached.add(path);
      else if (!path.startsWith("node:")) packages.push(`${file}: ${path}`);
    }
  }
  expect(packages).toEqual([]);
  expect(reached).toContain("scripts/lib/paths.mjs");
});
