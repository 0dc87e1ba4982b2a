import { createApp, createSSRApp } from "vue";
import { seed } from "../shared.ts";
import App from "./App.vue";

const app = (window.initial ? createSSRApp : createApp)(App, { initial: window.initial });
app.mount("#app");
window.unmount = () => app.unmount();
window.seed = seed;
