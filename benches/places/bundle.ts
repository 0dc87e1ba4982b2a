/** The files that both places load. */
import { fileURLToPath } from "node:url";
import { build, type BuildOptions } from "esbuild";
import { inProject, root } from "../../scripts/lib/paths.mjs";

export interface BenchFiles {
  /** All workloads. */
  readonly suite: string;
  /** `seenguard` as a bundled app has it: minified. */
  readonly seenguard: string;
}

export async function bundleAll(): Promise<BenchFiles> {
  const suite = fileURLToPath(new URL("../suite.ts", import.meta.url));
  const app = { contents: `export { SeenGuard } from "seenguard";`, resolveDir: root };
  return {
    suite: await bundle("suite.mjs", {
      entryPoints: [suite],
      mainFields: ["module", "main"],
      loader: { "": "text" },
      // What npm's packages for Node look for at their start.
      define: { "process.env.NODE_ENV": '"production"' },
    }),
    seenguard: await bundle("seenguard.mjs", { stdin: app, minify: true }),
  };
}

async function bundle(name: string, options: BuildOptions): Promise<string> {
  const outfile = inProject("target", "bench", name);
  await build({
    ...options,
    outfile,
    bundle: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    logLevel: "warning",
  });
  return outfile;
}
