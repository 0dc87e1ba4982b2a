import { mount } from "svelte";
import Pager from "./Pager.svelte";

mount(Pager, { target: document.querySelector("#app") ?? document.body });
