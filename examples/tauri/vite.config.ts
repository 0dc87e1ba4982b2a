import { defineConfig } from "vite";

export default defineConfig({
  // What WebKitGTK, WKWebView and Android's webview know by now: await at a module's top.
  build: { target: "es2022" },
});
