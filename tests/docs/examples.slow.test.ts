/** The documentation's examples run and print the output in their comments. Those in Go, Java and Python: tests/service. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { appFiles } from "../bundlers/app-files.ts";
import { startRedis, type RunningRedis } from "../support/processes.ts";
import { KNOWN, openExample, type OpenPage } from "./browser.ts";
import { examples, examplesOf, exampleWith, expectedOutput, root, writeExample, type Example } from "./examples.ts";

const run = promisify(execFile);
const NODE_MS = 30_000;
const BROWSER_MS = 60_000;
const COMPILER_MS = 300_000;

const RUN_HERE = ["js node", "js redis", "js page", "tsx page", "rust", "json"];
/** By tests/shells (`ts`, `js shell`), tests/hooks (adapters and test runners), servers.test.ts, tests/requests. */
const RUN_ELSEWHERE =
  /^(?:go|java|python) \w+$|^ts$|^(?:tsx|vue|svelte) adapter$|^js (?:vitest|jest|express|hono)$|^js shell$|^ts accounts$|^js offline$/;
/** Of an app that tests/bundlers runs: the rest of the kind is its file. Of a client that clients.test.ts runs: its name. */
const OF_AN_APP = /^\w+ (?!start\/)(\S+\/\S+)$/;
/** A file of the app that start.test.ts runs. */
const OF_START = /^\w+ start\/\S+$/;
const TEXT = ["sh", "text"];

test("every example is of a kind that some test runs", () => {
  const isKnown = ({ kind }: Example) =>
    [...RUN_HERE, ...TEXT].includes(kind) || [RUN_ELSEWHERE, OF_AN_APP, OF_START].some((of) => of.test(kind));
  expect(examples.filter((example) => !isKnown(example))).toEqual([]);
  for (const kind of RUN_HERE) expect(examplesOf(kind), kind).not.toEqual([]);
});

describe("in Node", () => {
  test.each(examplesOf("js node"))(
    "the example of $page at line $line prints its documented output",
    { timeout: NODE_MS },
    (example) => expectOutput(example),
  );
});

describe("over Redis", () => {
  let redis: RunningRedis;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());

  test.each(examplesOf("js redis"))(
    "the example of $page at line $line prints its documented output",
    { timeout: NODE_MS },
    async (example) => {
      await expectOutput(example, { REDIS_URL: redis.url });
      expect(await redis.client.ttl("seen:ada")).toBeGreaterThan(30 * 86_400);
    },
  );
});

async function expectOutput(example: Example, environment: Record<string, string> = {}): Promise<void> {
  const env = { ...process.env, ...environment };
  const { stdout, stderr } = await run(process.execPath, [writeExample(example)], { cwd: root, env });
  expect(stderr).toBe("");
  expect(expectedOutput(example)).not.toBe("");
  expect(stdout).toBe(expectedOutput(example));
}

describe("in a browser", () => {
  async function open(example: Example, entry?: string): Promise<OpenPage> {
    const opened = await openExample(example, entry);
    onTestFinished(() => opened.close());
    return opened;
  }
  const shown = ({ page }: OpenPage) => page.locator("li").allTextContents();
  const eleven = Array.from({ length: 12 }, (_, index) => `article-${String(index)}`).filter((id) => id !== KNOWN);

  test(
    "the plain list shows fresh items, and never again items that were in view",
    { timeout: BROWSER_MS },
    async () => {
      const entry = `import { more, refresh } from "./example"; Object.assign(globalThis, { more, refresh });`;
      const opened = await open(exampleWith("js page", "elementOf"), entry);
      await vi.waitFor(async () => expect(await shown(opened)).toEqual(eleven), 20_000);
      await opened.page.evaluate("more()");
      expect(await shown(opened)).toEqual(eleven);
      await expectDelivered(opened, eleven.length);
      await opened.page.evaluate("refresh()");
      expect(await shown(opened)).toEqual([]);
      await opened.page.reload();
      await opened.page.waitForFunction("globalThis.refresh !== undefined");
      expect(await shown(opened)).toEqual([]);
      expect(opened.printed()).toBe("");
    },
  );

  test("the React list does so under StrictMode, and its items stay", { timeout: BROWSER_MS }, async () => {
    const entry = `
      import { StrictMode } from "react";
      import { createRoot } from "react-dom/client";
      import { App } from "./example";
      createRoot(document.querySelector("#app")).render(<StrictMode><App userId="ada" /></StrictMode>);`;
    const opened = await open(exampleWith("tsx page", "useSeenPages"), entry);
    await vi.waitFor(async () => expect(await shown(opened)).toEqual(eleven), 20_000);
    await expectDelivered(opened, eleven.length);
    expect(await shown(opened)).toEqual(eleven);
    const again = opened.page.waitForResponse("**/api/feed?*");
    await opened.page.getByRole("button", { name: "Refresh" }).click();
    await again;
    await vi.waitFor(async () => expect(await shown(opened)).toEqual([]), 5_000);
    expect(opened.printed()).toBe("");
  });

  const printing = examplesOf("js page", "tsx page").filter((example) => expectedOutput(example) !== "");
  test.each(printing)(
    "the example of $page at line $line prints its documented output",
    { timeout: BROWSER_MS },
    async (example) => {
      const opened = await open(example);
      await vi.waitFor(() => expect(opened.printed()).toBe(expectedOutput(example)), 20_000);
    },
  );

  test("every example for pages is run by one of these tests", () => {
    const all = examplesOf("js page", "tsx page");
    const lists = all.filter(({ code }) => /elementOf|useSeenPages/.test(code));
    expect(lists).toHaveLength(2);
    expect(all).toHaveLength(printing.length + lists.length);
  });

  /** Expects the body that docs/delivery.md documents. */
  async function expectDelivered({ posted }: OpenPage, count: number): Promise<void> {
    interface Body {
      impressions: { id: string; at: number }[];
      unseen?: unknown;
    }
    const delivered = () => new Set(posted.flatMap(({ body }) => (body as Body).impressions.map(({ id }) => id)));
    await vi.waitFor(() => expect(delivered().size).toBe(count), 20_000);
    // Nothing became unseen.
    const { unseen: _, ...documented } = JSON.parse(exampleWith("json", '"impressions"').code) as Body;
    for (const { contentType, body } of posted) {
      expect(contentType).toBe("application/json");
      expect(Object.keys(body as Body)).toEqual(Object.keys(documented));
      for (const impression of (body as Body).impressions) {
        expect(Object.keys(impression)).toEqual(Object.keys(documented.impressions[0] ?? {}));
        expect(new Date(impression.at).getFullYear()).toBe(new Date().getFullYear());
      }
    }
  }
});

test("the examples in TypeScript compile under strict rules", { timeout: COMPILER_MS }, async () => {
  const files = examplesOf("ts", "ts accounts", "tsx page", "tsx adapter").map(writeExample);
  const options = ["--noEmit", "--strict", "--target", "es2022", "--module", "esnext", "--moduleResolution", "bundler"];
  const tsc = [`${root}node_modules/typescript/bin/tsc`, "--ignoreConfig", "--skipLibCheck", "--jsx", "react-jsx"];
  const { stdout } = await run(process.execPath, [...tsc, ...options, ...files], { cwd: root }).catch(
    (error: unknown) => error as { stdout: string },
  );
  expect(stdout).toBe("");
});

test("the examples in Rust run", { timeout: COMPILER_MS }, async () => {
  for (const page of new Set(examplesOf("rust").map((example) => example.page))) {
    const count = examplesOf("rust").filter((example) => example.page === page).length;
    expect(await testRustExamples(page)).toContain(`${String(count)} passed; 0 failed`);
  }
});

/**
 * Runs the Rust examples of a page against the crate. Returns rustdoc's output, with the numbers of passed and failed.
 * The crate is compiled apart: its file has one name whatever its features, and the service's own examples may link to it
 * meanwhile.
 */
async function testRustExamples(page: string): Promise<string> {
  const apart = ["--target-dir", join(root, "target", "docs-examples")];
  const { stdout } = await run("cargo", ["build", "--quiet", "--lib", "--message-format", "json", ...apart], {
    cwd: root,
    maxBuffer: 1 << 26,
  });
  const library = /"filenames":\["([^"]+\.rlib)"/.exec(
    stdout.split("\n").find((line) => line.includes('"name":"seenguard"') && line.includes("compiler-artifact")) ?? "",
  )?.[1];
  if (library === undefined) throw new Error("cargo did not report where it put the crate");
  const [directory = ""] = /^.*[/\\]/.exec(library) ?? [];
  const linked = ["--extern", `seenguard=${library}`, "-L", `dependency=${directory}deps`];
  const rustdoc = run("rustdoc", ["--test", page, "--edition", "2024", ...linked], { cwd: root });
  return (await rustdoc.catch((error: unknown) => error as { stdout: string })).stdout;
}

test("the examples in JSON are JSON", () => {
  for (const { code } of examplesOf("json")) expect(() => JSON.parse(code) as unknown).not.toThrow();
});

describe("of an app", () => {
  const inApps = examples.filter(({ kind }) => OF_AN_APP.test(kind));
  test.each(inApps)("the example of $page at line $line is in the file that it names", ({ kind, code }) => {
    const [, file = ""] = OF_AN_APP.exec(kind) ?? [];
    const whole = appFiles.get(file) ?? readFileSync(`${root}tests/requests/recipes.ts`, "utf8");
    // A part of a function is not indented in the page.
    const flat = (text: string) => text.replace(/^ +/gm, "");
    expect(flat(whole)).toContain(flat(code));
  });
});
