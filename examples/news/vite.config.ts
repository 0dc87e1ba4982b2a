import { defineConfig } from "vite";

export default defineConfig({
  build: { sourcemap: true },
  // `npx vite` next to `npm run web`: the page with hot reloading.
  server: { proxy: { "/api": "http://localhost:3000" } },
});
