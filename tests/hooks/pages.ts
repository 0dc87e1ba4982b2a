/** The apps' pages: a site for each worker, and a reader's actions there. */
import { expect as baseExpect, test as base, type Locator, type Page } from "@playwright/test";
import fastify from "fastify";
import type { Report } from "seenguard";
import { ShardChain, type Snapshot } from "seenguard/server";
import type { Initial, Item } from "./apps/shared.js";
import { buildApp, type BuiltApp, type Framework } from "./build.js";

const ITEMS_A_PAGE = 10;

/** The same for everybody: an item that one person has seen must be in another's list. */
export function itemsOfPage(page: number): Item[] {
  return Array.from({ length: ITEMS_A_PAGE }, (_, index) => {
    const id = `item-${String(page * ITEMS_A_PAGE + index)}`;
    return { id, title: id };
  });
}

export const idsOfPages = (...pages: number[]) => pages.flatMap(itemsOfPage).map(({ id }) => id);

/** An item that everybody has seen by the server's snapshot. */
export const KNOWN = "item-13";

export interface Site {
  readonly origin: string;
  /** Ids of impressions that were delivered, of some apps after the account that they were delivered for. */
  readonly delivered: string[];
  close(): Promise<void>;
}

/** `/ssr` is rendered on the server; `/data` has only the first items. */
async function serve({ scripts, render }: BuiltApp): Promise<Site> {
  const server = fastify({ forceCloseConnections: true });
  const snapshot = await knownSnapshot();
  server.get<{ Querystring: { page: string; order?: string } }>("/api/feed", ({ query }) => {
    const page = Number(query.page);
    const items = itemsOfPage(page);
    return { items: query.order === "latest" ? items.reverse() : items, snapshot, next: String(page + 1) };
  });
  const delivered: string[] = [];
  server.post<{ Body: Report }>("/api/feed/seen", ({ body }, reply) => {
    delivered.push(...body.impressions.map(({ id }) => id));
    return reply.code(204).send();
  });
  for (const [path, code] of scripts) server.get(path, (_, reply) => reply.type("text/javascript").send(code));
  for (const ssr of [true, false]) {
    const initial: Initial = { ssr, user: "ada", items: itemsOfPage(0) };
    const script = `window.initial = ${JSON.stringify(initial)}`;
    server.get(ssr ? "/ssr" : "/data", async (_, reply) =>
      reply.type("text/html").send(documentOf(ssr ? await render(initial) : "", script)),
    );
  }
  server.post<{ Body: Report; Params: { account: string } }>(
    "/api/accounts/:account/seen",
    ({ body, params }, reply) => {
      delivered.push(...body.impressions.map(({ id }) => `${params.account} ${id}`));
      return reply.code(204).send();
    },
  );
  const sides = {
    ...{ pages: "pages", example: "example", query: "query", pill: "parts", order: "parts", pager: "pager" },
    voyager: "voyager",
  };
  for (const [path, side] of Object.entries(sides))
    server.get(`/${path}`, (_, reply) => reply.type("text/html").send(documentOf("", "", `${side}.js`)));
  server.get("/*", (_, reply) => reply.type("text/html").send(documentOf("")));
  const origin = await server.listen({ host: "127.0.0.1", port: 0 });
  return { origin, delivered, close: () => server.close() };
}

async function knownSnapshot(): Promise<Snapshot> {
  const chain = await ShardChain.create();
  chain.record(KNOWN);
  const snapshot = chain.snapshot();
  chain.free();
  return snapshot;
}

// Two items are in view at a time. The router's address is that of the page without it.
export const documentOf = (body: string, script = "", source = "client.js") =>
  `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,"><title>Feed</title>
<style>li { height: 300px }</style>
<div id="app">${body}</div>
<script>${script}; if (window.initial) history.replaceState(null, "", "/")</script>
<script type="module" src="/${source}"></script>`;

/** A reader's tab. */
export class Reader {
  readonly page: Page;
  readonly site: Site;
  /** The messages of the console. */
  readonly complaints: string[] = [];
  readonly #deliveredBefore: number;

  constructor(page: Page, site: Site) {
    this.page = page;
    this.site = site;
    this.#deliveredBefore = site.delivered.length;
    page.on("console", (message) => {
      if (["warning", "error"].includes(message.type())) this.complaints.push(message.text());
    });
    page.on("pageerror", (error) => this.complaints.push(String(error)));
  }

  /** Opens a page, and records from the beginning which items are in the document. */
  async open(path = "/"): Promise<void> {
    await this.page.goto(this.site.origin + path);
  }

  /** Ids of impressions that were delivered since the tab was opened. */
  get delivered(): string[] {
    return this.site.delivered.slice(this.#deliveredBefore);
  }

  get items(): Locator {
    return this.page.locator("li");
  }

  ids(): Promise<string[]> {
    return this.items.allTextContents();
  }

  async press(name: string): Promise<void> {
    await this.page.getByRole("button", { name, exact: true }).click();
  }

  /** Waits until the guard has recorded all of these. */
  async haveSeen(ids: readonly string[]): Promise<void> {
    await baseExpect
      .poll(() => this.page.evaluate((all) => all.filter((id) => !window.adapterApp.guard?.explain(id).seen), ids))
      .toEqual([]);
  }

  /** The ids that the open guard knows as seen. */
  seen(ids: readonly string[]): Promise<string[]> {
    return this.page.evaluate((all) => all.filter((id) => window.adapterApp.guard?.explain(id).seen), ids);
  }

  /** Stops all reports: later recordings are not delivered. */
  async expectNoReport(): Promise<void> {
    await this.page.evaluate(() => window.adapterApp.guard?.record("later"));
    baseExpect(await this.page.evaluate(() => window.adapterApp.guard?.deliver())).toEqual({ delivered: 0, left: 1 });
  }

  /** Which items have ever been in this document. */
  everShown(): Promise<string[]> {
    return this.page.evaluate(() => [...window.everShown]);
  }
}

declare global {
  interface Window {
    everShown: Set<string>;
  }
}

function noteWhatIsShown(): void {
  const shown = (window.everShown = new Set());
  const note = () => {
    for (const { textContent } of document.querySelectorAll("li")) shown.add(textContent);
  };
  new MutationObserver(note).observe(document, { childList: true, subtree: true, characterData: true });
}

interface Fixtures {
  framework: Framework;
  reader: Reader;
}

export const test = base.extend<Fixtures, { sites: Map<Framework, Promise<Site>> }>({
  framework: ["react", { option: true }],
  sites: [
    async ({}, use) => {
      const sites = new Map<Framework, Promise<Site>>();
      await use(sites);
      for (const site of sites.values()) await (await site).close();
    },
    { scope: "worker" },
  ],
  reader: async ({ framework, page, sites }, use) => {
    const site = sites.get(framework) ?? buildApp(framework).then(serve);
    sites.set(framework, site);
    await page.addInitScript(noteWhatIsShown);
    await use(new Reader(page, await site));
  },
});

export const expect = baseExpect;
