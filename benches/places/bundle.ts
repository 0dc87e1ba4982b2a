/** The suite as one file, which both places load. */
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { inProject } from "../../scripts/lib/paths.mjs";

/** Returns the file's path. */
export async function bundleSuite(): Promise<string> {
  const outfile = inProject("target", "bench", "suite.mjs");
  await build({
    entryPoints: [fileURLToPath(new URL("../suite.ts", import.meta.url))],
    outfile,
    bundle: true,
    format: "esm",
    platform: "browser",
    mainFields: ["module", "main"],
    target: "es2022",
    loader: { "": "text" },
    // What npm's packages for Node look for at their start.
    define: { "process.env.NODE_ENV": '"production"' },
    logLevel: "warning",
  });
  return outfile;
}
