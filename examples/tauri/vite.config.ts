import { defineConfig } from "vite";

export default defineConfig({
  // WebKitGTK, WKWebView and Android's webview support it: `await` at a module's top.
  build: { target: "es2022" },
});
