import Feed from "documented-example.svelte";
import { mount } from "svelte";

mount(Feed, {
  target: document.querySelector("#app") ?? document.body,
  props: { userId: "ada" },
});
