import { hydrate, mount, unmount } from "svelte";
import { seed } from "../shared.ts";
import App from "./App.svelte";

const target = document.querySelector("#app") as HTMLElement;
const app = (window.initial ? hydrate : mount)(App, { target, props: { initial: window.initial } });
window.unmount = () => void unmount(app);
window.seed = seed;
