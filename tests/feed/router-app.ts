/**
 * A small app with routes: a list that stores its items in the history's state, and articles. A reader's steps in it, in
 * any browser engine.
 */
import type { SeenGuard } from "seenguard";
import type { Evaluates } from "../support/pages.js";
import { documentOf, type Site } from "../support/site.js";

/** The content of the window. */
export interface View {
  readonly route: string;
  readonly ids: readonly string[];
  readonly scroll: number;
}

interface App {
  view(): View;
  /** Scrolls to an item, and waits until the items in view have counted. */
  read(id: string): Promise<void>;
  /** Opens an article, as a route of this document. */
  open(): void;
}

declare global {
  interface Window {
    routerApp: App | undefined;
  }
}

/** Runs in the page. */
function startApp(): void {
  interface Kept {
    readonly items: readonly string[];
    readonly scroll: number;
  }
  const main = document.body.appendChild(document.createElement("main"));
  let guard: SeenGuard | undefined;
  history.scrollRestoration = "manual";
  document.body.style.margin = "0";

  const elements = () => [...main.querySelectorAll<HTMLElement>("[data-seen-id]")];
  const idOf = ({ dataset }: HTMLElement) => dataset.seenId ?? "";

  async function enterList(): Promise<void> {
    guard = await Seenguard.SeenGuard.open({ namespace: "home:reader" });
    // The server offers the same items until their impressions have arrived.
    const offered = Array.from({ length: 40 }, (_, index) => `article-${String(index)}`);
    const { items, scroll } = (history.state as Kept | null) ?? { items: offered, scroll: 0 };
    history.replaceState({ items, scroll }, "");
    const shown = guard.feed({ key: "home" }).filter(items);
    main.innerHTML = shown.map((id) => `<p data-seen-id="${id}" style="height:300px;margin:0">${id}</p>`).join("");
    scrollTo(0, scroll);
    document.title = "list";
  }

  async function enter(): Promise<void> {
    document.title = "entering";
    await guard?.close();
    guard = undefined;
    main.innerHTML = "";
    if (location.pathname === "/") await enterList();
    else document.title = "article";
  }

  window.routerApp = {
    view: () => ({ route: document.title, ids: elements().map(idOf), scroll: Math.round(scrollY) }),
    read: async (id) => {
      elements()
        .find((element) => idOf(element) === id)
        ?.scrollIntoView();
      const { items } = history.state as Kept;
      history.replaceState({ items, scroll: scrollY }, "");
      const isInView = (element: HTMLElement) => {
        const { top, bottom } = element.getBoundingClientRect();
        return bottom > 0 && top < innerHeight;
      };
      guard?.record(elements().filter(isInView).map(idOf));
      await guard?.flush();
    },
    open: () => {
      history.pushState(null, "", "/article");
      void enter();
    },
  };
  addEventListener("popstate", () => void enter());
  // WebKit does not scroll a page that comes from the cache if the app scrolls by itself.
  addEventListener("pageshow", ({ persisted }) => {
    if (persisted) void enter();
  });
  void enter();
}

/** Serves the app on a site. */
export function serveApp(site: Site): void {
  const app = documentOf("entering", `<body><script>(${startApp.toString()})()</script>`);
  for (const path of ["/", "/article"]) site.documents.set(path, app);
}

/** A window of any browser engine, with the app in it. */
export interface AppWindow extends Evaluates {
  open(url: string): Promise<unknown>;
  back(): Promise<unknown>;
  reload(): Promise<unknown>;
}

const WAIT_MS = 15_000;

/** The content of the window once a route has been entered. */
async function viewOf(tab: AppWindow, route: string): Promise<View> {
  const deadline = Date.now() + WAIT_MS;
  for (;;) {
    // The document may be unloading.
    const view = await tab.evaluate(() => window.routerApp?.view()).catch(() => undefined);
    if (view?.route === route) return view;
    if (Date.now() > deadline) throw new Error(`the ${route} is not there, but ${JSON.stringify(view)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** The content of the window before and after each way of leaving the list and returning to it. */
export interface Visit {
  readonly before: View;
  readonly after: Readonly<Record<string, View>>;
  /** A reload begins a new list, as a new visit does. */
  readonly reloaded: View;
  readonly later: View;
}

/** Scrolls down the list, leaves it and returns in each way; then visits the site again. */
export async function readAndReturn(tab: AppWindow, { origin }: Site): Promise<Visit> {
  await tab.open(origin);
  await viewOf(tab, "list");
  await tab.evaluate(() => window.routerApp?.read("article-7"));
  const before = await viewOf(tab, "list");
  const after: Record<string, View> = {};
  await tab.evaluate(() => window.routerApp?.open());
  await viewOf(tab, "article");
  await tab.evaluate(() => {
    history.back();
  });
  after["an article, as a route"] = await viewOf(tab, "list");
  await tab.open(`${origin}/article`);
  await viewOf(tab, "article");
  await tab.back();
  after["an article, as a document"] = await viewOf(tab, "list");
  await tab.reload();
  const reloaded = await viewOf(tab, "list");
  await tab.open(`${origin}/?again`);
  return { before, after, reloaded, later: await viewOf(tab, "list") };
}
