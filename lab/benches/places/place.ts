/** Where the benchmarks run, and the files that both places load. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build, type BuildOptions } from "esbuild";
import { inProject, root } from "../../../scripts/lib/paths.mjs";
import type { Effort } from "../measure.ts";
import type { Outcome } from "../workloads.ts";

/** Milliseconds that the steps of one start took, by name. */
export type Steps = Readonly<Record<string, number>>;

/** As JSON: ids, and a snapshot that contains all of them. */
export interface StoredImpressions {
  readonly ids: string;
  readonly message: string;
  readonly count: number;
}

export interface Place {
  readonly name: string;
  /** With its version. */
  readonly title: string;
  /** All workloads, warmed up. */
  suite(effort: Effort): Promise<Outcome[]>;
  /** Opening with stored impressions and without, again and again; a place without storage has none. */
  openings(impressions: StoredImpressions, times: number): Promise<Steps[]>;
  /** One start of each contender from nothing, with what the server sends them and the ids of the first page. */
  coldStarts(messages: Readonly<Record<"seenguard" | "Set", string>>, ids: string): Promise<Record<string, Steps>>;
  /** Bytes of the heap that a Set of these ids takes, which are given as JSON, or a Map from them to times. */
  heapOf(ids: string): Promise<number>;
  close(): Promise<void>;
}

export const say = (line: string): void => {
  console.error(`  ${line}`);
};

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
