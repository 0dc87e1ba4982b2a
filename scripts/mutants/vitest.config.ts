/** Vitest's settings for Stryker: the Node tests of js/, without those that start processes. */
import { defineConfig } from "vitest/config";
import { define, ofTheEngine, patient } from "../../vitest.config.ts";

export default defineConfig({
  define,
  test: { ...patient, include: [...ofTheEngine], exclude: ["tests/**/*.slow.test.ts"] },
});
