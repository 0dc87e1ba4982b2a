/** The React app in development: Vite's development server over a copy, whose files a test edits. */
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Plugin } from "vite";
import { root } from "../docs/examples.js";
import { test as base, documentOf, Reader } from "./pages.js";

/** A tab of the app, and its source. */
export class Developer extends Reader {
  readonly #source: string;

  constructor(reader: Reader, origin: string, source: string) {
    super(reader.page, { ...reader.site, origin });
    this.#source = source;
  }

  /** Edits the file of the routes. */
  edit(change: (text: string) => string): void {
    const text = readFileSync(this.#source, "utf8");
    const changed = change(text);
    if (changed === text) throw new Error("the edit changes nothing");
    writeFileSync(this.#source, changed);
  }
}

/** A build in this process has set NODE_ENV to "production". */
const define = { "process.env.NODE_ENV": '"development"' };

/** Vite's own plugin for React requires another Babel than Jest does. */
const fastRefresh: Plugin = {
  name: "fast-refresh",
  config: () => ({
    define,
    oxc: { jsx: { runtime: "automatic", refresh: true } },
    optimizeDeps: { include: ["react-refresh/runtime"], rolldownOptions: { transform: { define } } },
  }),
  transformIndexHtml: {
    order: "pre",
    handler: () => [
      {
        tag: "script",
        attrs: { type: "module" },
        children: `import refresh from "react-refresh/runtime"; refresh.injectIntoGlobalHook(window)`,
      },
    ],
  },
  transform: (code, file) =>
    code.includes("$RefreshReg$")
      ? `import refresh from "react-refresh/runtime";
const $RefreshReg$ = (type, name) => refresh.register(type, ${JSON.stringify(file)} + name);
const $RefreshSig$ = refresh.createSignatureFunctionForTransform;
${code}
import.meta.hot.accept(refresh.performReactRefresh);`
      : undefined,
};

export const test = base.extend<{ developer: Developer }>({
  developer: async ({ reader }, use) => {
    const target = `${root}target/adapters/`;
    mkdirSync(target, { recursive: true });
    const directory = mkdtempSync(`${target}developed-`);
    cpSync(`${root}tests/hooks/apps`, directory, { recursive: true });
    writeFileSync(`${directory}/index.html`, documentOf("", "", "react/client.tsx"));
    const server = await createServer({
      root: directory,
      cacheDir: `${directory}/cache`,
      configFile: false,
      logLevel: "error",
      plugins: [fastRefresh],
      server: { host: "127.0.0.1", port: 0, proxy: { "/api": reader.site.origin }, fs: { allow: [root] } },
    });
    await server.listen();
    const origin = server.resolvedUrls?.local[0]?.replace(/\/$/, "") ?? "";
    await use(new Developer(reader, origin, `${directory}/react/app.tsx`));
    await server.close();
    rmSync(directory, { recursive: true });
  },
});
