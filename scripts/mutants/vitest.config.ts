/** Vitest's settings for Stryker: tests in Node of what js/ does, without those that start processes. */
import { defineConfig } from "vitest/config";
import { ofChains, ofTheGuard, patient } from "../../vitest.config.ts";

export default defineConfig({
  test: { ...patient, include: [...ofTheGuard, ...ofChains].map((name) => `tests/node/${name}.test.ts`) },
});
