// What the linter demands of JavaScript and TypeScript: typescript-eslint's strictest set, with type information, and
// functions that fit on a screen.
import js from "@eslint/js";
import { defineConfig, globalIgnores } from "eslint/config";
import tseslint from "typescript-eslint";

export default defineConfig(
  globalIgnores([
    "dist/",
    "target/",
    "lab/fuzz/target/",
    "js/generated/",
    "www/dist/",
    "test-results/",
    "examples/capacitor/{android,dist,ios}/",
    "examples/news/dist/",
    "examples/tauri/{dist,src-tauri}/",
  ]),
  js.configs.recommended,
  tseslint.configs.strictTypeChecked,
  tseslint.configs.stylisticTypeChecked,
  {
    languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
    rules: {
      "max-lines-per-function": ["error", { max: 60, skipBlankLines: true, skipComments: true }],
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true, allowBoolean: true }],
      "@typescript-eslint/no-unused-vars": ["error", { argsIgnorePattern: "^_", varsIgnorePattern: "^_" }],
      // `void promise` says that nobody waits for it, and why belongs beside it.
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      // What a storage of the app's own rejects with may be anything.
      "@typescript-eslint/prefer-promise-reject-errors": ["error", { allowThrowingUnknown: true }],
      // A function that does nothing until there is something to do says so by being empty.
      "@typescript-eslint/no-empty-function": "off",
      eqeqeq: "error",
    },
  },
  {
    // The compiler knows which globals there are, and better than a list; and it sees the casts in JSDoc, which the
    // linter does not.
    files: ["**/*.{js,mjs,cjs}"],
    rules: { "no-undef": "off", "@typescript-eslint/no-unsafe-assignment": "off" },
  },
  {
    // The classes of the sources are those that the published declarations name, and each build has the same enums.
    files: ["js/**"],
    rules: {
      "@typescript-eslint/no-unsafe-class-instance-assignment": "off",
      "@typescript-eslint/no-unsafe-enum-assignment": "off",
    },
  },
  {
    // The published declarations keep the words that they were published with.
    files: ["js/types/seenguard.d.ts"],
    rules: { "@typescript-eslint/array-type": "off" },
  },
  {
    // A function that an object's user may take out of it says so by `this: void`.
    files: ["js/types/*.d.ts"],
    rules: { "@typescript-eslint/no-invalid-void-type": ["error", { allowAsThisParameter: true }] },
  },
  {
    // Apps of people who write plain JavaScript, and one whose types its own script checks.
    files: [
      "tests/packed/apps/{node,runners,webpack}/**",
      "tests/bundlers/apps/**",
      "examples/{capacitor,news,tauri}/**",
    ],
    extends: [tseslint.configs.disableTypeChecked],
    rules: {
      "no-undef": "off",
      "@typescript-eslint/no-non-null-assertion": "off",
      "@typescript-eslint/no-require-imports": "off",
    },
  },
  {
    // A test's callback holds a whole story, a soak's place all that goes wrong there.
    files: ["tests/**", "lab/soak/**"],
    rules: { "max-lines-per-function": "off" },
  },
);
