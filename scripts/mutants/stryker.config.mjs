/** Stryker's settings: `npm run mutants` runs it. */

/** @type {Record<string, unknown>} */
export default {
  testRunner: "vitest",
  plugins: ["@stryker-mutator/vitest-runner"],
  // Tests import the package as it is built: no import relates them to js/.
  vitest: { configFile: "scripts/mutants/vitest.config.ts", related: false },
  mutate: ["js/**/*.ts", "!js/**/*.d.ts", "!js/generated/**"],
  // Of the copy of the project that is tried.
  buildCommand: `node --eval "import('./scripts/build/bundle.mjs').then(({ bundle }) => bundle())"`,
  ignorePatterns: ["target", "test-results", "bench", "lab", "docs", "examples"],
  tempDirName: "target/stryker/copies",
  coverageAnalysis: "perTest",
  // What a module does as it is loaded would take a process for each mutant.
  ignoreStatic: true,
  concurrency: 2,
  timeoutMS: 20_000,
  reporters: ["clear-text", "html"],
  clearTextReporter: { allowColor: false, logTests: false },
  htmlReporter: { fileName: "target/stryker/report.html" },
  // A mutant that survives is for a person to review.
  thresholds: { high: 90, low: 70, break: null },
};
