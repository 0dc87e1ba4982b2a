// Tests in the system's own Chromium. A project has the name of a folder of tests/ or of an ending. A trace of each step
// costs a quarter of the processor's time: `npx playwright test --trace on` and the test's name record one.
import { defineConfig } from "@playwright/test";
import { chromiumArguments, programs } from "./scripts/lib/programs.mjs";

// Runs at the same time each clear their own directory alone; the workers of a run find its name in their environment.
const outputDir = (process.env.SEENGUARD_TEST_RESULTS ??= `test-results/${String(process.pid)}`);

/** Folders with a project of their own. The rest is of rules: `slow` runs with `--all` alone. */
const folders = ["demo", "hooks", "news", "service", "shells", "site"];
const within = (folder: string) => `**/tests/${folder}/**`;

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
    { name: "chromium", testDir: "tests", testIgnore: ["**/*.slow.spec.ts", ...folders.map(within)] },
    { name: "slow", testDir: "tests", testMatch: "**/*.slow.spec.ts" },
    ...folders.map((name) => ({
      ...{ name, testDir: `tests/${name}` },
      // One worker: each app is built and installed once.
      ...(["demo", "site"].includes(name) ? {} : { workers: 1 }),
    })),
  ],
});
