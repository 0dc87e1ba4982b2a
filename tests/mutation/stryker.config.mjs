/** Mutants of js/, all in one build of the package, tried by the tests that run in Node. */
import { fileURLToPath } from "node:url";

/** @param {string} name */
const besideThis = (name) => fileURLToPath(new URL(name, import.meta.url));

export default {
  mutate: ["js/**/*.ts", "!js/types/**", "!js/generated/**", "!js/**/*.d.ts"],
  plugins: ["@stryker-mutator/vitest-runner", besideThis("sample-checker.mjs")],
  checkers: ["sample"],
  buildCommand: "node tests/mutation/build.mjs",
  testRunner: "vitest",
  vitest: { configFile: "tests/mutation/vitest.config.ts", related: false },
  coverageAnalysis: "perTest",
  concurrency: 1,
  timeoutMS: 60_000,
  dryRunTimeoutMinutes: 240,
  reporters: ["progress-append-only", "json"],
  jsonReporter: { fileName: "target/mutation/js.json" },
  tempDirName: "target/mutation/stryker",
  ignorePatterns: ["target"],
  allowConsoleColors: false,
};
