/** How the demo's page is bundled; `build.ts` runs it. In the mode "alone" the page brings its server with it. */
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

/** The pages begin with `alone/page.ts`, and the catalogue lies next to them, grouped. */
function alone(): Plugin {
  return {
    name: "alone",
    transformIndexHtml: {
      order: "pre",
      handler: () => [{ tag: "script", attrs: { type: "module", src: "/../alone/page.ts" }, injectTo: "head-prepend" }],
    },
    async generateBundle() {
      this.emitFile({ type: "asset", fileName: "catalogue.json", source: JSON.stringify(await readCatalogue()) });
    },
  };
}
