import { createSSRApp } from "vue";
import { renderToString } from "vue/server-renderer";
import type { Initial } from "../shared.ts";
import App from "./App.vue";

export function render(initial: Initial): Promise<string> {
  return renderToString(createSSRApp(App, { initial }));
}
