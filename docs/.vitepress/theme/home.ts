/** The first page: what the frontmatter of index.md says, the demo, and the text of index.md. */
import { Content, withBase } from "vitepress";
import { VPHomeContent, VPHomeFeatures, VPHomeHero } from "vitepress/theme-without-fonts";
import { h } from "vue";

/** The demo is built by itself, with a server in the page. */
const Demo = () => {
  const address = withBase("/demo/index.html");
  return h("figure", { class: "demo" }, [
    h("iframe", { src: address, title: "The demo: the same feed twice" }),
    h("figcaption", [
      "Look at some items for a second, then refresh; click into the demo to scroll it. " +
        "Its server runs in this page, and what it knows ends with it. ",
      h("a", { href: address, target: "_self" }, "Open the demo in a page of its own"),
    ]),
  ]);
};

export default () =>
  h("main", { class: "VPHome" }, [h(VPHomeHero), h(Demo), h(VPHomeFeatures), h(VPHomeContent, null, () => h(Content))]);
