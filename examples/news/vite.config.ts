import vue from "@vitejs/plugin-vue";
import { defineConfig } from "vite";

// `--mode` is the client, react or vue: index.html names it.
export default defineConfig(({ mode }) => ({
  plugins: [vue()],
  build: { outDir: `dist/${mode}`, sourcemap: true },
  // `npx vite --mode vue` beside `npm run web`: the page with hot reloading.
  server: { proxy: { "/api": "http://localhost:3000" } },
}));
