/** VitePress's default theme in the demo's colours and type. `home.ts` takes the place of its first page. */
import "@fontsource-variable/inter/index.css";
import { withBase, type Theme } from "vitepress";
import DefaultTheme from "vitepress/theme-without-fonts";
import { h } from "vue";
import "./style.css";

const NotFound = () =>
  h("main", { class: "not-found" }, [
    h("h1", "There is no such page"),
    h("p", [h("a", { href: withBase("/") }, "To the first page")]),
  ]);

export default {
  extends: DefaultTheme,
  Layout: () => h(DefaultTheme.Layout, null, { "not-found": NotFound }),
} satisfies Theme;
