/** How the demo's page is bundled; `build.ts` runs it. */
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

export default defineConfig({
  root: fileURLToPath(new URL("page", import.meta.url)),
  build: {
    target: "es2022",
    outDir: fileURLToPath(new URL("dist", import.meta.url)),
    emptyOutDir: true,
    // The Wasm module is inlined in the script.
    chunkSizeWarningLimit: 1000,
    rolldownOptions: {
      input: ["index.html", "article.html"].map((page) => fileURLToPath(new URL(`page/${page}`, import.meta.url))),
    },
    assetsInlineLimit: 0, // the page's policy loads files alone, no data: addresses
  },
});
