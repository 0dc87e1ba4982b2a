/** The built site, served like by a file host, and its pages; the step `site` builds it for two base paths. */
import { existsSync, readdirSync } from "node:fs";
import { test, type Page } from "@playwright/test";
import { inProject } from "../../scripts/lib/paths.mjs";
import { serveSite } from "../../scripts/site/serve.mjs";

/** The directory of each base path's build. */
export const builds = [
  { base: "/", directory: inProject("target", "site") },
  { base: "/x/", directory: inProject("target", "site-below") },
] as const;

export interface Site {
  readonly url: string;
  /** Paths of its pages below `url`, without those of the demo. */
  readonly pages: readonly string[];
}

/** Serves it until the file's tests are done. */
export function siteFor(build: (typeof builds)[number]): () => Site {
  let site: (Site & { close(): void }) | undefined;
  test.beforeAll(async () => {
    if (!existsSync(`${build.directory}/index.html`)) throw new Error("there is no site yet: npm test -- --only site");
    const files = readdirSync(build.directory, { recursive: true, encoding: "utf8" });
    const pages = files.filter((file) => file.endsWith(".html") && !file.startsWith("demo"));
    site = { ...(await serveSite(build)), pages };
  });
  test.afterAll(() => site?.close());
  return () => {
    if (site === undefined) throw new Error("the site is served from the first test on");
    return site;
  };
}

/** Blocks requests to other hosts, and returns them. */
export async function requestsElsewhere(page: Page, { url }: Site): Promise<string[]> {
  const elsewhere: string[] = [];
  await page.context().route(
    (address) => address.origin !== new URL(url).origin && address.protocol !== "data:",
    async (route) => {
      elsewhere.push(route.request().url());
      await route.abort();
    },
  );
  return elsewhere;
}
