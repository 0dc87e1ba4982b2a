/** How the demo's page is bundled; `build.ts` runs it. In the mode "alone" the page contains its server. */
import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "vite";
import { readCatalogue } from "./server/data.ts";

export default defineConfig(({ mode }) => ({
  root: fileURLToPath(new URL("page", import.meta.url)),
  base: "./",
  plugins: mode === "alone" ? [alone()] : [],
  // The package's build for production, also where NODE_ENV says "test": `npm start` makes no other.
  resolve: { conditions: ["module", "browser", "production"] },
  worker: { format: "es" },
  build: {
    target: "es2022",
    outDir: fileURLToPath(new URL("dist", import.meta.url)),
    emptyOutDir: true,
    // The Wasm module is inlined in the script.
    chunkSizeWarningLimit: 1000,
    rolldownOptions: {
      checks: { bundlerTimings: false }, // grouping the catalogue takes its time
      input: ["index.html", "article.html"].map((page) => fileURLToPath(new URL(`page/${page}`, import.meta.url))),
    },
    assetsInlineLimit: 0, // the page's policy loads files alone, no data: addresses
  },
}));

/**
 * The pages begin with `alone/page.ts`, a script of its own, so that the server starts while the page's script loads; the
 * catalogue lies next to them, grouped.
 */
function alone(): Plugin {
  const first = fileURLToPath(new URL("alone/page.ts", import.meta.url));
  return {
    name: "alone",
    buildStart() {
      this.emitFile({ type: "chunk", id: first, name: "alone" });
    },
    transformIndexHtml: {
      order: "post",
      handler: (_html, { bundle = {} }) => {
        const chunk = Object.values(bundle).find((file) => file.type === "chunk" && file.facadeModuleId === first);
        if (chunk === undefined) throw new Error("the bundle has no alone/page.ts");
        const attrs = { type: "module", crossorigin: true, src: `./${chunk.fileName}` };
        return [{ tag: "script", attrs, injectTo: "head-prepend" }];
      },
    },
    async generateBundle() {
      this.emitFile({ type: "asset", fileName: "catalogue.json", source: JSON.stringify(await readCatalogue()) });
    },
  };
}
