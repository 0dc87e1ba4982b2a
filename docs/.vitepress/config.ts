/** How VitePress makes the site of docs/; scripts/site.mjs gathers the pages and runs it. */
import { readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig, type DefaultTheme, type MarkdownOptions } from "vitepress";
import { groups, REFERENCE, sourceOf } from "./pages.mjs";

/** Where scripts/site.mjs has gathered the pages. */
const gathered = fileURLToPath(new URL("../../target/site-pages", import.meta.url));

export default defineConfig({
  srcDir: gathered,
  cacheDir: fileURLToPath(new URL("../../target/vitepress", import.meta.url)),
  outDir: fileURLToPath(new URL("../../target/site", import.meta.url)),
  lang: "en",
  ignoreDeadLinks: "localhostLinks", // what a reader starts
  title: "Seenguard",
  description: "A feed never shows the same item twice.",
  transformHead: ({ siteData }) => [["link", { rel: "icon", href: `${siteData.base}favicon.svg` }]],
  transformHtml: stylesAfterScripts,
  markdown: {
    theme: { light: "github-light-high-contrast", dark: "github-dark-high-contrast" },
    anchor: { slugify: slugOf },
    config: (markdown) => {
      linkWithinSite(markdown);
      leaveCornersEmpty(markdown);
      leaveCodeAlone(markdown);
    },
  },
  vite: {
    logLevel: "warn",
    build: { chunkSizeWarningLimit: 2000 }, // the search's index
    resolve: {
      alias: [{ find: /^.*\/VPHome\.vue$/, replacement: fileURLToPath(new URL("theme/home.ts", import.meta.url)) }],
    },
  },
  themeConfig: {
    logo: { src: "/favicon.svg", alt: "" },
    search: { provider: "local" },
    nav: [
      { text: "Guide", link: "/start", activeMatch: `^/(?!${REFERENCE}/|changelog)(?=.)` },
      { text: "Reference", link: `/${REFERENCE}/seenguard`, activeMatch: `^/${REFERENCE}/` },
      { text: "Changelog", link: "/changelog" },
    ],
    sidebar: [...groups.map(groupItem), referenceItem()],
    outline: { level: [2, 3] },
    externalLinkIcon: true,
  },
});

function groupItem({ title, pages }: (typeof groups)[number]): DefaultTheme.SidebarItem {
  return { text: title, items: pages.map((name) => ({ text: headingOf(name), link: `/${name}` })) };
}

function referenceItem(): DefaultTheme.SidebarItem {
  const names = readdirSync(`${gathered}/${REFERENCE}`).map((file) => file.replace(/\.md$/, ""));
  const items = names.map((name) => ({ text: headingOf(`${REFERENCE}/${name}`), link: `/${REFERENCE}/${name}` }));
  return { text: "Reference", items };
}

/** A script waits for the styles before it, and with it the first page's demo below: the styles come last in the head. */
function stylesAfterScripts(html: string): string {
  const styles = /<link rel="preload stylesheet"[^>]*>\s*/g;
  return html.replace(styles, "").replace("</head>", `${(html.match(styles) ?? []).join("")}</head>`);
}

/** A page's title, without what would be markup in it, and without its anchor. */
function headingOf(name: string): string {
  const [, heading] = /^# (.+)$/m.exec(readFileSync(`${gathered}/${name}.md`, "utf8")) ?? [];
  if (heading === undefined) throw new Error(`${sourceOf(name)} has no heading`);
  return heading.replaceAll("`", "").replace(/ \{#.*\}$/, "");
}

/** As on GitHub, where the same links work: https://github.com/Flet/github-slugger. */
function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{Pc} -]/gu, "")
    .replaceAll(" ", "-");
}

type Markdown = Parameters<NonNullable<MarkdownOptions["config"]>>[0];

/** Braces in code do not begin a template. */
function leaveCodeAlone(markdown: Markdown): void {
  markdown.core.ruler.push("code-alone", ({ tokens }) => {
    for (const { children } of tokens)
      for (const token of children ?? []) if (token.type === "code_inline") token.attrSet("v-pre", "");
  });
}

/** A table's corner without a text heads nothing. */
function leaveCornersEmpty(markdown: Markdown): void {
  markdown.core.ruler.push("empty-corners", ({ tokens }) => {
    for (const [at, token] of tokens.entries()) {
      const [text, end] = tokens.slice(at + 1, at + 3);
      if (token.type !== "th_open" || text?.content !== "" || end === undefined) continue;
      token.tag = "td";
      end.tag = "td";
    }
  });
}

/**
 * Links of the sources are to files of the project. Those that are pages here lead to these, files next to the pages to
 * their copies, and the others, such as code, become plain text.
 */
function linkWithinSite(markdown: Markdown): void {
  const pages = new Map(groups.flatMap(({ pages }) => pages.map((name) => [sourceOf(name), `/${name}`])));
  markdown.core.ruler.push("links-within-site", ({ tokens, env }) => {
    // A title is read by itself, without its page.
    const { relativePath = "index.md" } = env as { relativePath?: string };
    if (relativePath === "index.md" || relativePath.startsWith(`${REFERENCE}/`)) return;
    const source = sourceOf(relativePath.replace(/\.md$/, ""));
    for (const { children } of tokens) {
      const kept: boolean[] = [];
      const isKept = (token: NonNullable<typeof children>[number]): boolean => {
        if (token.type === "link_close") return kept.pop() ?? true;
        if (token.type !== "link_open") return true;
        const href = hrefWithinSite(token.attrGet("href") ?? "", source, pages);
        if (href !== undefined) token.attrSet("href", href);
        kept.push(href !== undefined);
        return href !== undefined;
      };
      if (children !== null) children.splice(0, children.length, ...children.filter(isKept));
    }
  });
}

function hrefWithinSite(href: string, source: string, pages: ReadonlyMap<string, string>): string | undefined {
  if (/^([a-z]+:|#)/.test(href)) return href;
  const [path = "", ...hash] = href.split(/(?=#)/);
  const file = posix.join(posix.dirname(source), path);
  const page = pages.get(file);
  if (page !== undefined) return page + hash.join("");
  return /^docs\/[^/]+\.(json|yml)$/.test(file) ? `/${posix.basename(file)}` : undefined;
}
