/** The README says what is so: its examples run, its links lead somewhere, and it names every public member. */
import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { promisify } from "node:util";
import ts from "typescript";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { steps } from "../../scripts/test/steps.mjs";
import { startRedis, type RunningRedis } from "../demo/processes.ts";
import { examples, examplesOf, promised, readme, root, written, type Example } from "./readme/examples.ts";
import { testRustExamples } from "./readme/rust.ts";
import { KNOWN, openExample, type OpenPage } from "./readme/pages.ts";

const run = promisify(execFile);
const BROWSER_MS = 60_000;
const COMPILER_MS = 300_000;

const exampleWith = (kind: string, part: string): Example => {
  const found = examplesOf(kind).find(({ code }) => code.includes(part));
  if (found === undefined) throw new Error(`the README has no example "${kind}" with ${part}`);
  return found;
};

test("every example is of a kind that is checked here", () => {
  const kinds = ["js node", "js redis", "js page", "ts page", "tsx page", "rust", "lua", "json", "sh", "text"];
  expect(examples.filter(({ kind }) => !kinds.includes(kind))).toEqual([]);
  for (const kind of kinds) expect(examplesOf(kind), kind).not.toEqual([]);
});

describe("in Node", () => {
  test.each(examplesOf("js node"))(
    "the example at line $line prints what it says",
    { timeout: 30_000 },
    async (example) => {
      const { stdout, stderr } = await run(process.execPath, [written(example)], { cwd: root });
      expect(stderr).toBe("");
      expect(promised(example)).not.toBe("");
      expect(stdout).toBe(promised(example));
    },
  );
});

describe("over Redis", () => {
  let redis: RunningRedis;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis.stop());

  test.each(examplesOf("js redis"))(
    "the example at line $line prints what it says",
    { timeout: 30_000 },
    async (example) => {
      const env = { ...process.env, REDIS_URL: redis.url };
      const { stdout, stderr } = await run(process.execPath, [written(example)], { cwd: root, env });
      expect(stderr).toBe("");
      expect(promised(example)).not.toBe("");
      expect(stdout).toBe(promised(example));
      expect(await redis.client.ttl("seen:ada")).toBeGreaterThan(30 * 86_400);
    },
  );

  test("the script is the one that the demo's server runs", () => {
    const [script] = examplesOf("lua");
    expect(script?.code).toBe(readFileSync(`${root}www/server/redis/update-chain.lua`, "utf8"));
  });
});

describe("in a browser", () => {
  async function open(example: Example, entry?: string): Promise<OpenPage> {
    const opened = await openExample(example, entry);
    onTestFinished(() => opened.close());
    return opened;
  }
  const shown = ({ page }: OpenPage) => page.locator("[data-seen-id]").allTextContents();
  const eleven = Array.from({ length: 12 }, (_, index) => `Article ${String(index)}`).filter(
    (title) => title !== KNOWN.replace("article-", "Article "),
  );

  test("the plain list shows what is fresh, and what was looked at never again", { timeout: BROWSER_MS }, async () => {
    const entry = `import { nextPage, refresh } from "./example"; Object.assign(globalThis, { nextPage, refresh });`;
    const opened = await open(exampleWith("js page", "elementOf"), entry);
    await vi.waitFor(async () => expect(await shown(opened)).toEqual(eleven), 20_000);
    await opened.page.evaluate("nextPage()");
    expect(await shown(opened)).toEqual(eleven);
    await expectDelivered(opened, eleven.length);
    await opened.page.evaluate("refresh()");
    expect(await shown(opened)).toEqual([]);
    await opened.page.reload();
    await opened.page.waitForFunction("globalThis.refresh !== undefined");
    expect(await shown(opened)).toEqual([]);
    expect(opened.printed()).toBe("");
  });

  test("the React list does so under StrictMode, and keeps what it shows", { timeout: BROWSER_MS }, async () => {
    const entry = `
      import { StrictMode } from "react";
      import { createRoot } from "react-dom/client";
      import { App } from "./example";
      createRoot(document.querySelector("#app")).render(<StrictMode><App userId="ada" /></StrictMode>);`;
    const opened = await open(exampleWith("tsx page", "useGuard"), entry);
    await vi.waitFor(async () => expect(await shown(opened)).toEqual(eleven), 20_000);
    await expectDelivered(opened, eleven.length);
    expect(await shown(opened)).toEqual(eleven);
    const again = opened.page.waitForResponse("**/api/feed");
    await opened.page.getByRole("button", { name: "Refresh" }).click();
    await again;
    await vi.waitFor(async () => expect(await shown(opened)).toEqual([]), 5_000);
    expect(opened.printed()).toBe("");
  });

  const printing = [...examplesOf("js page", "ts page", "tsx page")].filter((example) => promised(example) !== "");
  test.each(printing)("the example at line $line prints what it says", { timeout: BROWSER_MS }, async (example) => {
    const opened = await open(example);
    await vi.waitFor(() => expect(opened.printed()).toBe(promised(example)), 20_000);
  });

  test("every example for pages is one of these", () => {
    const pages = examplesOf("js page", "ts page", "tsx page");
    const lists = pages.filter(({ code }) => /elementOf|useGuard/.test(code));
    expect(lists).toHaveLength(2);
    expect(pages).toHaveLength(printing.length + lists.length);
  });

  /** The body that arrives has the form that the README documents. */
  async function expectDelivered({ posted }: OpenPage, count: number): Promise<void> {
    interface Body {
      impressions: { id: string; at: number }[];
    }
    const delivered = () => new Set(posted.flatMap(({ body }) => (body as Body).impressions.map(({ id }) => id)));
    await vi.waitFor(() => expect(delivered().size).toBe(count), 20_000);
    const documented = JSON.parse(exampleWith("json", '"impressions"').code) as Body;
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
  const files = examplesOf("ts page", "tsx page").map(written);
  const options = ["--noEmit", "--strict", "--target", "es2022", "--module", "esnext", "--moduleResolution", "bundler"];
  const tsc = [`${root}node_modules/typescript/bin/tsc`, "--ignoreConfig", "--skipLibCheck", "--jsx", "react-jsx"];
  const { stdout } = await run(process.execPath, [...tsc, ...options, ...files], { cwd: root }).catch(
    (error: unknown) => error as { stdout: string },
  );
  expect(stdout).toBe("");
});

test("the examples in Rust run", { timeout: COMPILER_MS }, async () => {
  expect(await testRustExamples("README.md")).toContain(`${String(examplesOf("rust").length)} passed; 0 failed`);
});

test("what it calls JSON is JSON", () => {
  for (const { code } of examplesOf("json")) expect(() => JSON.parse(code) as unknown).not.toThrow();
});

test("the commands that it names exist", () => {
  const { scripts } = JSON.parse(readFileSync(`${root}package.json`, "utf8")) as { scripts: Record<string, string> };
  const commands = [...readme.matchAll(/\bnpm (?:run )?(start|test|pack|(?<=run )[\w-]+)(?: -- --only ([\w,-]+))?/g)];
  expect(commands.length).toBeGreaterThan(5);
  for (const [command, script = "", only] of commands) {
    if (script !== "pack") expect(scripts, command).toHaveProperty(script);
    for (const name of only?.split(",") ?? [])
      expect(
        steps.map((step) => step.name),
        command,
      ).toContain(name);
  }
});

test("the links lead somewhere", () => {
  const slugs = [...readme.matchAll(/^#+ (.*)$/gm)].map(([, title = ""]) =>
    title
      .toLowerCase()
      .replace(/[^\w -]/g, "")
      .replaceAll(" ", "-"),
  );
  const targets = [...readme.matchAll(/\]\(([^)]+)\)/g)].map(([, target = ""]) => target);
  expect(targets.length).toBeGreaterThan(10);
  for (const target of targets) {
    if (target.startsWith("#")) expect(slugs).toContain(target.slice(1));
    else if (!target.startsWith("https:")) expect(existsSync(`${root}${target}`), target).toBe(true);
  }
});

test("the tree is as it draws it", () => {
  const tree = exampleWith("text", "seenguard.d.ts").code;
  let directory = "";
  for (const [, indent = "", name = ""] of tree.matchAll(/^( *)(\S+)/gm)) {
    if (indent === "") directory = name;
    const path = indent === "" ? name : directory + name;
    expect(existsSync(root + path), path).toBe(true);
  }
});

test("it names every public member, option and error code", () => {
  const declared = declaredNames(readFileSync(`${root}js/types/seenguard.d.ts`, "utf8"));
  expect(declared.length).toBeGreaterThan(70);
  const code = [...readme.matchAll(/`+[^`]+`+/g)].join("\n");
  expect(declared.filter((name) => !new RegExp(`(?<![\\w-])${name}(?![\\w-])`).test(code))).toEqual([]);
});

test("it calls the package's version by its name", () => {
  const { version } = JSON.parse(readFileSync(`${root}package.json`, "utf8")) as { version: string };
  const named = [...readme.matchAll(/seenguard-([\d.]+\d)/g)].map(([, name]) => name);
  expect(new Set(named)).toEqual(new Set([version]));
});

/** Members of classes, properties of interfaces, error codes. */
function declaredNames(declarations: string): string[] {
  const names = new Set<string>();
  const visit = (node: ts.Node): void => {
    const isMember = ts.isMethodDeclaration(node) || ts.isMethodSignature(node);
    if ((isMember || ts.isPropertyDeclaration(node) || ts.isPropertySignature(node)) && ts.isIdentifier(node.name))
      names.add(node.name.text);
    if (ts.isTypeAliasDeclaration(node) && node.name.text === "ErrorCode")
      for (const [, code = ""] of node.getText().matchAll(/"([\w-]+)"/g)) names.add(code);
    // Formats of other libraries are declared, and not there yet.
    if (ts.isTypeAliasDeclaration(node) && node.name.text === "ShardFormat") return;
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile("seenguard.d.ts", declarations, ts.ScriptTarget.ES2022, true));
  return [...names];
}
