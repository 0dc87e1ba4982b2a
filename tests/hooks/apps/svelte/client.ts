import { hydrate, mount, unmount } from "svelte";
import App from "./App.svelte";

const target = document.querySelector("#app") ?? document.body;
const app = (window.initial?.ssr ? hydrate : mount)(App, { target, props: { initial: window.initial } });
window.adapterApp.unmount = () => void unmount(app);
