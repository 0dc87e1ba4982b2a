// Tests that Node runs: of the package in Node, of its types, of the packed package in real little apps, of the module
// as other tools make it, and of Firefox and WebKitGTK through WebDriver.
import { defineConfig } from "vitest/config";

/** For a machine that is busy with other things: what is right passes long before. */
export const patient = { testTimeout: 120_000, hookTimeout: 120_000, expect: { poll: { timeout: 20_000 } } };

/** Which tests in Node are of the guard. */
export const ofTheGuard = [
  ...["apply", "clock", "feed", "filter", "formats", "ids", "keyed-feed", "lifecycle", "limits"],
  ...["record", "several-ids", "storage", "storage-clear", "storage-held", "storage-keys", "vectors"],
];

/** Which are of chains. */
export const ofChains = ["chain", "chain-exceptions", "near-duplicates", "page-of", "parse-report", "plan"];

/** Tests in Node that start many processes: the command, Redis, compilers of examples. */
const ofProcesses = [
  ...[
    "docs-examples",
    "inspect",
    "near-duplicates-example",
    "stores",
    "store-faults",
    "store-outages",
    "store-pages",
  ].map((name) => `tests/node/${name}.test.ts`),
  "tests/faults/outage.test.ts",
];

export default defineConfig({
  // A test that finds nothing to run is a mistake, not a success.
  test: {
    passWithNoTests: false,
    projects: [
      { test: { ...patient, name: "node", include: ["tests/node/**/*.test.ts"], exclude: ofProcesses } },
      { test: { ...patient, name: "processes", include: ofProcesses } },
      {
        // The same tests of the guard and of chains, on the engine as JavaScript.
        test: {
          ...patient,
          name: "node-js-engine",
          include: [...ofTheGuard, ...ofChains].map((name) => `tests/node/${name}.test.ts`),
          setupFiles: ["tests/node/server-engine-js.ts"],
          env: { SEENGUARD_ENGINE: "js" },
        },
      },
      {
        test: {
          ...patient,
          name: "conditions",
          include: ["tests/faults/**/*.test.ts"],
          exclude: ofProcesses,
        },
      },
      {
        test: {
          ...patient,
          name: "toolchain",
          include: ["tests/packed/toolchain/**/*.test.ts"],
          fileParallelism: false,
        },
      },
      {
        // Compilers and a stream processor take their time on a machine with little.
        test: {
          ...patient,
          name: "servers",
          include: ["tests/servers/languages/**/*.test.ts"],
          fileParallelism: false,
          testTimeout: 180_000,
          hookTimeout: 180_000,
        },
      },
      {
        test: { ...patient, name: "adapters", include: ["tests/frameworks/**/*.test.{ts,tsx}"], environment: "jsdom" },
      },
      {
        // Programs made at random, as many or for as long as tests/simulation/programs/programs.ts says.
        test: {
          ...patient,
          name: "programs",
          include: ["tests/simulation/programs/**/*.test.ts"],
          fileParallelism: false,
        },
      },
      { test: { ...patient, name: "cluster", include: ["tests/servers/cluster/**/*.test.ts"], testTimeout: 900_000 } },
      {
        // The service is compiled first, if that was not done before.
        test: {
          ...patient,
          name: "together",
          include: ["tests/servers/together/**/*.test.ts"],
          fileParallelism: false,
          hookTimeout: 1_200_000,
        },
      },
      {
        // The service is compiled first, if that was not done before; a broker takes its time to start again.
        test: {
          ...patient,
          name: "kafka",
          include: ["tests/servers/kafka/**/*.test.ts"],
          fileParallelism: false,
          testTimeout: 600_000,
          hookTimeout: 1_200_000,
        },
      },
      {
        // JVMs on a machine with little, and the service is compiled first, if that was not done before.
        test: {
          ...patient,
          name: "flink",
          include: ["tests/servers/flink/**/*.test.ts"],
          fileParallelism: false,
          testTimeout: 900_000,
          hookTimeout: 1_200_000,
        },
      },
      {
        test: {
          ...patient,
          name: "packaging",
          include: ["tests/packed/*.test.ts"],
          globalSetup: ["tests/packed/pack.ts"],
        },
      },
      {
        // Compilers of apps, one after the other: each takes all cores.
        test: {
          ...patient,
          name: "platforms",
          include: ["tests/bundlers/**/*.test.ts"],
          globalSetup: ["tests/bundlers/setup.ts"],
          fileParallelism: false,
          testTimeout: 300_000,
        },
      },
      {
        // The app is compiled first, if that was not done before.
        test: {
          ...patient,
          name: "tauri",
          include: ["tests/shells/tauri.test.ts"],
          hookTimeout: 3_600_000,
          testTimeout: 300_000,
        },
      },
      {
        // Each of these engines serves one session at a time, and two at once would be too much for two cores.
        test: {
          ...patient,
          name: "engines",
          include: ["tests/firefox-webkit/**/*.test.ts"],
          fileParallelism: false,
        },
      },
    ],
  },
});
