import { createApp, createSSRApp } from "vue";
import App from "./App.vue";

const app = (window.initial?.ssr ? createSSRApp : createApp)(App, { initial: window.initial });
app.mount("#app");
window.adapterApp.unmount = () => app.unmount();
