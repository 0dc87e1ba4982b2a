// Tests that Node runs. A project has the name of a folder of tests/ or of an ending; `node` has all that no other has.
import { defineConfig } from "vitest/config";

/** For a machine that is busy with other things: what is right passes long before. */
export const patient = { testTimeout: 120_000, hookTimeout: 120_000, expect: { poll: { timeout: 20_000 } } };

/**
 * For tests that import sources: copied for each project, since Vitest empties what it is given. Of the package Vite
 * takes the build for development by itself.
 */
export const define = { __DEV__: "true" };

/** Rules of the guard and of chains, which hold with either engine. */
export const ofTheEngine = [
  ...["chain", "feed", "formats", "guard", "limits", "near-duplicates", "requests", "snapshot", "storage"],
].map((rule) => `tests/${rule}/*.test.ts`);

/** Those of them that run the Wasm engine either way, in a simulated browser; and clients, which know of no engine. */
const ofNoEngine = [
  ...["clears", "costs", "keys", "stores"].map((name) => `tests/storage/${name}.test.ts`),
  "tests/requests/clients.test.ts",
];

const MINUTE_MS = 60_000;

/** One file after the other. @param minutes of a test, @param compiling of what is compiled before it */
const oneByOne = (minutes: number, compiling = minutes) => ({
  fileParallelism: false,
  testTimeout: minutes * MINUTE_MS,
  hookTimeout: compiling * MINUTE_MS,
});

/** Folders that need more than Node and the built package. */
const folders = {
  // Compilers of apps take all cores.
  bundlers: { ...oneByOne(5), globalSetup: ["tests/bundlers/setup.ts"] },
  hooks: { environment: "jsdom" },
  // Vite takes the package's build for development into an app's bundle unless NODE_ENV says so.
  packed: { globalSetup: ["tests/packed/pack.ts"], env: { NODE_ENV: "production" } },
  "packed/toolchain": oneByOne(2),
  "service/cluster": oneByOne(15),
  // The service is compiled first, if that was not done before; JVMs take their time on a machine with little.
  "service/flink": oneByOne(15, 20),
  "service/kafka": oneByOne(10, 20),
  "service/languages": oneByOne(3),
  "service/together": oneByOne(2, 20),
  // The app is compiled first, if that was not done before.
  shells: oneByOne(5, 60),
  // As many programs, or for as long, as tests/simulation/programs/programs.ts says.
  "simulation/programs": oneByOne(2),
};

const within = (folder: string) => `tests/${folder}/**`;

export default defineConfig({
  test: {
    // A test that finds nothing to run is a mistake, not a success.
    passWithNoTests: false,
    projects: [
      {
        define: { ...define },
        test: {
          ...patient,
          name: "node",
          include: ["tests/**/*.test.ts"],
          exclude: ["tests/**/*.{engines,slow}.test.ts", ...Object.keys(folders).map(within)],
        },
      },
      // With `--all` alone: those that start many processes.
      { test: { ...patient, name: "slow", include: ["tests/**/*.slow.test.ts"] } },
      // Firefox and WebKitGTK serve one session at a time, and two at once would be too much for two cores.
      { test: { ...patient, ...oneByOne(2), name: "engines", include: ["tests/**/*.engines.test.ts"] } },
      {
        define: { ...define },
        test: {
          ...patient,
          name: "js-engine",
          include: ofTheEngine,
          exclude: ["tests/**/*.{engines,slow}.test.ts", ...ofNoEngine],
          setupFiles: ["tests/engine/server-engine-js.ts"],
          env: { SEENGUARD_ENGINE: "js" },
        },
      },
      ...Object.entries(folders).map(([folder, settings]) => ({
        test: {
          ...patient,
          ...settings,
          name: folder.replace(/^.*\//, ""),
          include: [`${within(folder)}/*.test.{ts,tsx}`],
          // A folder in it has a project of its own.
          exclude: Object.keys(folders)
            .filter((other) => other.startsWith(`${folder}/`))
            .map(within),
        },
      })),
    ],
  },
});
