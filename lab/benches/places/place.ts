/** The runtimes of the benchmarks (Node and Chromium), and the files that both load. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, type BuildOptions } from "esbuild";
import { inProject, root } from "../../../scripts/lib/paths.mjs";
import type { Effort } from "../measure.ts";
import type { Outcome } from "../workloads.ts";

/** The milliseconds of the steps of one start, by name. */
export type Steps = Readonly<Record<string, number>>;

/** Ids and a snapshot that contains them, as JSON. */
export interface StoredImpressions {
  readonly ids: string;
  readonly message: string;
  readonly count: number;
}

export interface Place {
  readonly name: string;
  /** Its name and version. */
  readonly title: string;
  /** Runs all workloads, warmed up. */
  suite(effort: Effort): Promise<Outcome[]>;
  /** Measures opening with stored impressions and without; empty for a runtime without storage. */
  openings(impressions: StoredImpressions, times: number): Promise<Steps[]>;
  /** Measures one cold start of each contender, with the server's message and the ids of the first page. */
  coldStarts(messages: Readonly<Record<"seenguard" | "Set", string>>, ids: string): Promise<Record<string, Steps>>;
  /** Measures the heap of a Set of these ids, given as JSON, or of a Map from them to times. */
  heapOf(ids: string): Promise<number>;
  close(): Promise<void>;
}

export const print = (line: string): void => {
  console.error(`  ${line}`);
};

export interface BenchFiles {
  /** The file with all workloads. */ readonly suite: string;
  /** The minified package, as in a bundled app. */
  readonly seenguard: string;
}

export async function bundleAll(): Promise<BenchFiles> {
  const suite = fileURLToPath(new URL("../workloads.ts", import.meta.url));
  const app = { contents: `export { SeenGuard } from "seenguard";`, resolveDir: root };
  return {
    suite: await bundle("suite.mjs", {
      entryPoints: [suite],
      mainFields: ["module", "main"],
      // Used by npm's packages for Node.
      define: { "process.env.NODE_ENV": '"production"' },
    }),
    // The engine without Wasm is a file of its own, imported only when needed.
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
