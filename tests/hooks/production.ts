/** The bytes that an app in production loads for the first feed of docs/frameworks.md, in addition to its framework. */
import { brotliCompressSync } from "node:zlib";
import { build, type Rolldown } from "vite";
import { exampleWith, root, writeExample } from "../docs/examples.js";
import { compilers, exampleKinds, type Framework } from "./build.js";

export interface ProductionBytes {
  /** The route's chunk. */
  readonly route: number;
  /** The chunk that `open` loads, before any other request. */
  readonly opened: number;
  /** The route's chunk of an app that imports the guard statically. */
  readonly eager: number;
}

/** Brotli of what Vite makes of the documented feed by default, with the built package. */
export async function productionBytes(framework: Framework): Promise<ProductionBytes> {
  const lazy = await chunksOf(framework, true);
  const [eager] = await chunksOf(framework, false);
  const entry = lazy.find(({ isEntry }) => isEntry);
  const opened = lazy.filter(({ isEntry }) => !isEntry);
  if (entry === undefined || eager === undefined || opened.length === 0) throw new Error("the guard is in no chunk");
  return {
    route: bytesOf(entry),
    opened: opened.reduce((sum, chunk) => sum + bytesOf(chunk), 0),
    eager: bytesOf(eager),
  };
}

const bytesOf = ({ code }: Rolldown.OutputChunk) => brotliCompressSync(code).length;

async function chunksOf(framework: Framework, codeSplitting: boolean): Promise<Rolldown.OutputChunk[]> {
  // Vitest sets another one, with which Vite uses the package's development build.
  process.env.NODE_ENV = "production";
  const built = (await build({
    configFile: false,
    root,
    mode: "production",
    logLevel: "error",
    define: { "process.env.NODE_ENV": '"production"' },
    plugins: [compilers({ isServer: false, isDev: false })],
    build: {
      write: false,
      rolldownOptions: {
        input: writeExample(exampleWith(exampleKinds[framework], "fetchPage, { want: 8 }")),
        // The route needs the feed at once.
        preserveEntrySignatures: "exports-only",
        external: /^(react|vue|svelte)($|\/)/,
        output: { codeSplitting },
      },
    },
  })) as Rolldown.RolldownOutput;
  return built.output.filter((output) => output.type === "chunk");
}
