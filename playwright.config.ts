// Tests in the system's own Chromium: of the package on little pages, and of the demo as a person uses it. A trace of
// each step costs a quarter of the processor's time: `npx playwright test --trace on` and the test's name record one.
import { defineConfig } from "@playwright/test";
import { chromiumArguments, programs } from "./scripts/lib/programs.mjs";

// Runs at the same time each clear their own directory alone; the workers of a run find its name in their environment.
const outputDir = (process.env.SEENGUARD_TEST_RESULTS ??= `test-results/${String(process.pid)}`);

/** What the panel, the engine as JavaScript and the largest snapshot need takes as long as all else of the package. */
const ofThePanel = /\/(devtools|js-engine|largest-snapshot)\.spec\.ts$/;

const overTheService = /\/over-service\.spec\.ts$/;

/** On the documentation's site, which is built before. */
const onTheSite = /\/(demo\/site|site\/pages)\.spec\.ts$/;

export default defineConfig({
  testMatch: "**/*.spec.ts",
  outputDir,
  fullyParallel: true,
  workers: 2,
  retries: 0,
  forbidOnly: process.env.CI !== undefined,
  // For a machine that is busy with other things: what is right passes long before.
  timeout: 120_000,
  expect: { timeout: 20_000 },
  reporter: "list",
  use: {
    browserName: "chromium",
    launchOptions: { executablePath: programs.chromium.find() ?? "chromium", args: [...chromiumArguments] },
  },
  projects: [
    { name: "package", testDir: "tests/chromium", testIgnore: ofThePanel },
    { name: "panel", testDir: "tests/chromium", testMatch: ofThePanel },
    { name: "demo", testDir: "tests/demo", testIgnore: [overTheService, onTheSite] },
    { name: "demo-service", testDir: "tests/demo", testMatch: overTheService },
    { name: "site", testDir: "tests", testMatch: onTheSite },
    { name: "conditions", testDir: "tests/faults" },
    // One worker: each app is built once.
    { name: "adapters", testDir: "tests/frameworks", testIgnore: "news/**", workers: 1 },
    // Nor is this one installed twice.
    { name: "news", testDir: "tests/frameworks/news", workers: 1 },
    { name: "shells", testDir: "tests/shells", workers: 1 },
  ],
});
