import { defineConfig } from "vite";

// iOS 15 and Android's webview of the same year: what the package supports.
export default defineConfig({ build: { target: ["safari15", "chrome96"] } });
