import { mount } from "svelte";
import Pages from "./Pages.svelte";

mount(Pages, { target: document.querySelector("#app") ?? document.body });
