/** Stryker's settings: `npm run mutants` runs it. */

/** @type {Record<string, unknown>} */
export default {
  testRunner: "vitest",
  plugins: ["@stryker-mutator/vitest-runner"],
  // Tests import the built package, so that their imports do not relate them to js/.
  vitest: { configFile: "scripts/mutants/vitest.config.ts", related: false },
  mutate: ["js/**/*.ts", "!js/**/*.d.ts", "!js/generated/**"],
  // Runs in Stryker's copy of the project.
  buildCommand: `node --eval "import('./scripts/build/bundle.mjs').then(({ bundle }) => bundle())"`,
  ignorePatterns: ["target", "test-results", "bench", "lab", "docs", "examples"],
  tempDirName: "target/stryker/copies",
  coverageAnalysis: "perTest",
  // Mutants of code that runs at import would need a process each.
  ignoreStatic: true,
  concurrency: 2,
  timeoutMS: 20_000,
  reporters: ["clear-text", "html"],
  clearTextReporter: { allowColor: false, logTests: false },
  htmlReporter: { fileName: "target/stryker/report.html" },
  // Surviving mutants are reviewed by a person.
  thresholds: { high: 90, low: 70, break: null },
};
