/** The package's two builds: for development by package.json's condition `development`, else for production. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { describe, expect, inject, onTestFinished, test, vi } from "vitest";
import { build as buildByVite, createServer, type Rolldown } from "vite";

/** A part of a message of misuse, which only the build for development has. */
const WORDS = "looked for a property `id`";
const APP = 'export { SeenGuard } from "seenguard";';

/** The effect of a list without ids, and of an unknown option. */
const outcome = (entry: string) => `
  const codes = [];
  const fallback = () => import("seenguard/formats/engine-js");
  const onError = ({ code }) => codes.push(code);
  (async () => {
    const guard = await SeenGuard.open({ namespace: "home:1", storage: "none", onError, fallback${
      entry === "seenguard/slim"
        ? ", wasm: require('node:fs').readFileSync(require.resolve('seenguard/seenguard.wasm'))"
        : ""
    } });
    guard.filter(Array(5).fill({ key: 1 }));
    try {
      guard.feed({ name: "home" });
    } catch ({ code }) {
      codes.push(code);
    }
    console.log(guard.stats().engine, codes.join());
  })();`;

async function runNode(...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: inject("installed") });
  return stdout;
}

describe.each(["seenguard", "seenguard/formats", "seenguard/slim"])("in Node %s", (entry) => {
  const ways = {
    module: `import { createRequire } from "node:module";
      import { SeenGuard } from "${entry}";
      const require = createRequire(process.cwd() + "/");`,
    commonjs: `const { SeenGuard } = require("${entry}");`,
  };
  test.each(Object.entries(ways))(
    "is the build for production, or by its condition for development, by %s",
    async (kind, top) => {
      const script = [`--input-type=${kind}`, "--eval", top + outcome(entry)];
      expect(await runNode(...script)).toBe("wasm \n");
      expect(await runNode("--conditions=development", ...script)).toBe("wasm misuse,bad-option\n");
    },
  );
});

test("errors of both builds and of the server are of one class", async () => {
  const script = `
    import { SeenGuard, SeenGuardError } from "seenguard";
    import * as server from "seenguard/server";
    const error = await SeenGuard.open({}).catch((error) => error);
    console.log(error.constructor === SeenGuardError, SeenGuardError === server.SeenGuardError);`;
  for (const conditions of [[], ["--conditions=development"]])
    expect(await runNode(...conditions, "--input-type=module", "--eval", script)).toBe("true true\n");
});

test("a bundle by esbuild has the messages of misuse only with the condition", async () => {
  const bundled = async (...conditions: string[]) => {
    const stdin = { contents: APP, resolveDir: inject("installed") };
    const { outputFiles } = await build({ stdin, bundle: true, minify: true, format: "esm", write: false, conditions });
    return outputFiles[0]?.text ?? "";
  };
  const [production, development] = [await bundled("module"), await bundled("module", "development")];
  expect(development).toContain(WORDS);
  for (const word of [WORDS, "which has no box", "takes an object of options", "has no option"])
    expect(production).not.toContain(word);
  expect(production.length).toBeLessThan(development.length - 2_000);
});

test("Vite uses the build for development in its server, and the other in its builds", async () => {
  const settings = { root: inject("installed"), configFile: false, logLevel: "silent" } as const;
  // As its two commands have it.
  vi.stubEnv("NODE_ENV", "development");
  onTestFinished(() => void vi.unstubAllEnvs());
  const server = await createServer({
    ...settings,
    server: { middlewareMode: true, ws: false },
    optimizeDeps: { noDiscovery: true },
  });
  const resolved = await server.environments.client.pluginContainer.resolveId(
    "seenguard",
    join(settings.root, "app.js"),
  );
  await server.close();
  expect(resolved?.id).toMatch(/\/index\.development\.js$/);
  vi.stubEnv("NODE_ENV", "production");
  const app = join(settings.root, "app.js");
  const plugin = {
    name: "app",
    resolveId: (id: string) => (id === "app" ? app : null),
    load: (id: string) => (id === app ? APP : null),
  };
  const built = (await buildByVite({
    ...settings,
    plugins: [plugin],
    build: { write: false, rolldownOptions: { input: "app", preserveEntrySignatures: "strict" } },
  })) as Rolldown.RolldownOutput;
  expect(built.output.map((file) => ("code" in file ? file.code : "")).join()).not.toContain(WORDS);
});
