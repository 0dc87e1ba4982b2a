/** The files that both places load. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, type BuildOptions } from "esbuild";
import { inProject, root } from "../../../scripts/lib/paths.mjs";

export interface BenchFiles {
  /** All workloads. */
  readonly suite: string;
  /** `seenguard` as a bundled app has it: minified. */
  readonly seenguard: string;
}

export async function bundleAll(): Promise<BenchFiles> {
  const suite = fileURLToPath(new URL("../workloads.ts", import.meta.url));
  const app = { contents: `export { SeenGuard } from "seenguard";`, resolveDir: root };
  return {
    suite: await bundle("suite.mjs", {
      entryPoints: [suite],
      mainFields: ["module", "main"],
      // What npm's packages for Node look for at their start.
      define: { "process.env.NODE_ENV": '"production"' },
    }),
    // The engine without Wasm is a file of its own, which is imported only where it is needed.
    seenguard: await bundle("seenguard.mjs", { stdin: app, minify: true, splitting: true }),
  };
}

async function bundle(name: string, options: BuildOptions): Promise<string> {
  const directory = inProject("target", "bench");
  await build({
    ...options,
    outdir: directory,
    entryNames: name.replace(/\.mjs$/, ""),
    outExtension: { ".js": ".mjs" },
    bundle: true,
    format: "esm",
    platform: "browser",
    target: "es2022",
    logLevel: "warning",
  });
  return join(directory, name);
}
