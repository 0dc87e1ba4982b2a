/** How the demo's page is bundled; `build.ts` runs it. In the mode "alone" the page contains its server. */
import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "vite";
import { readCatalogue } from "./server/data.ts";

/** Grouping the catalogue takes its time. */
const checks = { bundlerTimings: false };

export default defineConfig(({ mode }) => ({
  root: fileURLToPath(new URL("page", import.meta.url)),
  base: "./",
  plugins: mode === "alone" ? [alone()] : [],
  // The package's build for production, also where NODE_ENV says "test": `npm start` makes no other.
  resolve: { conditions: ["module", "browser", "production"] },
  worker: {
    format: "es",
    plugins: () => [catalogue()],
    rolldownOptions: { checks },
  },
  build: {
    target: "es2022",
    outDir: fileURLToPath(new URL("dist", import.meta.url)),
    emptyOutDir: true,
    // The Wasm module is inlined in the script.
    chunkSizeWarningLimit: 1000,
    rolldownOptions: {
      checks,
      input: ["index.html", "article.html"].map((page) => fileURLToPath(new URL(`page/${page}`, import.meta.url))),
    },
    assetsInlineLimit: 0, // the page's policy loads files alone, no data: addresses
  },
}));

/**
 * The pages begin with `alone/page.ts`, which starts the server before styles and the page's own script are there; that
 * script imports it, too, so it always runs after it.
 */
function alone(): Plugin {
  const [first, ...scripts] = ["alone/page.ts", "page/src/main.ts", "page/src/article.ts"].map((path) =>
    fileURLToPath(new URL(path, import.meta.url)),
  ) as [string, ...string[]];
  return {
    name: "alone",
    buildStart() {
      this.emitFile({ type: "chunk", id: first, name: "alone" });
    },
    transform: (code, id) =>
      scripts.includes(id) ? { code: `import ${JSON.stringify(first)};${code}`, map: null } : undefined,
    transformIndexHtml: {
      order: "post",
      handler: (_html, { bundle = {} }) => {
        const chunk = Object.values(bundle).find((file) => file.type === "chunk" && file.facadeModuleId === first);
        if (chunk === undefined) throw new Error("the bundle has no alone/page.ts");
        const attrs = { type: "module", async: true, crossorigin: true, src: `./${chunk.fileName}` };
        return [{ tag: "script", attrs, injectTo: "head-prepend" }];
      },
    },
  };
}

/** The items in the worker's script, so that it fetches nothing else. */
function catalogue(): Plugin {
  const id = "virtual:catalogue";
  return {
    name: "catalogue",
    resolveId: (source) => (source === id ? id : undefined),
    load: async (loaded) =>
      loaded === id
        ? `export default JSON.parse(${JSON.stringify(JSON.stringify(await readCatalogue()))});`
        : undefined,
  };
}
