// Tests in the system's own Chromium: of the package on little pages, and of the demo as a person uses it.
import { defineConfig } from "@playwright/test";
import { chromiumArguments, programs } from "./scripts/lib/programs.mjs";

// Runs at the same time each clear their own directory alone; the workers of a run find its name in their environment.
const outputDir = (process.env.SEENGUARD_TEST_RESULTS ??= `test-results/${String(process.pid)}`);

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
    trace: "retain-on-failure",
  },
  projects: [
    { name: "package", testDir: "tests/browser" },
    { name: "demo", testDir: "tests/demo" },
    { name: "conditions", testDir: "tests/conditions" },
    { name: "capacitor", testDir: "tests/capacitor" },
    // One worker: each app is built once.
    { name: "adapters", testDir: "tests/adapters", workers: 1 },
    // Nor is this one installed twice.
    { name: "news", testDir: "tests/news", workers: 1 },
  ],
});
