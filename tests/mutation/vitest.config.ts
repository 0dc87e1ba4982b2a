// The tests in Node that run the package itself: neither its documentation nor its command. A schedule of many pages is
// left out, since it takes as long as all others.
import { defineConfig } from "vitest/config";

/** Projects do not have the settings of what they are in. */
const patient = {
  testTimeout: 120_000,
  hookTimeout: 120_000,
  expect: { poll: { timeout: 20_000 } },
  setupFiles: ["tests/mutation/pages.ts"],
};

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          ...patient,
          name: "node",
          include: ["tests/node/*.test.ts"],
          exclude: ["docs-*", "command", "news", "near-duplicates-example", "import", "interleaving"].map(
            (name) => `tests/node/${name}.test.ts`,
          ),
        },
      },
      {
        test: {
          ...patient,
          name: "adapters",
          include: ["tests/adapters/{react,vue}.test.{ts,tsx}"],
          environment: "jsdom",
        },
      },
    ],
  },
});
