/** The fixtures of a shell's tests: the app, built and copied, its API, and the native side. */
import { test as base, type BrowserContext, type Page } from "@playwright/test";
import { Api } from "./api.js";
import { NativeSide } from "./native-side.js";
import { makeProduct, pageOf, type Product } from "./product.js";
import { idOf, type Reader } from "./reader.js";
import { Webview } from "./webview.js";

/** How the app makes requests: by the system, by the webview, or only those to the API by the system. */
export type Http = "on" | "off" | "aside";

export interface Device {
  /** Opens the app in a page. `before`: runs in each document before the bridge. */
  open(page: Page, before?: () => void): Promise<Webview>;
  readonly native: NativeSide;
}

interface Fixtures {
  api: Api;
  /** A device with the test's setting of CapacitorHttp. */
  deviceWith: (http: Http) => Device;
}

export const test = base.extend<Fixtures, { product: Product }>({
  product: [
    async ({}, use) => {
      const product = await makeProduct();
      await use(product);
      await product.remove();
    },
    { scope: "worker", timeout: 600_000 },
  ],
  api: async ({ product }, use) => {
    const api = await Api.start(product.apiPort);
    await use(api);
    await api.close();
  },
  deviceWith: async ({ product }, use) => {
    await use((http) => {
      const native = new NativeSide(http !== "off");
      const built = pageOf(product, http === "aside" ? "aside" : "android");
      const { modules } = product;
      const open = (page: Page, before?: () => void) =>
        Webview.open(page, { native, modules, built, ...(before ? { before } : {}) });
      return { native, open };
    });
  },
});

/** Restarts the app: another page over the same storage. */
export async function restart(device: Device, context: BrowserContext): Promise<Webview> {
  for (const page of context.pages()) await page.close();
  return device.open(await context.newPage());
}

/** How often each seen story was reported to the API: the distinct numbers. */
export function timesReported(api: Api, { seen }: Reader): number[] {
  return [...new Set(Array.from(seen, (title) => api.reports.get(idOf(title)) ?? 0))];
}

/** Runs in the page: IndexedDB does not respond any more, as when the system has ended its process. */
export function stopIndexedDb(): void {
  IDBFactory.prototype.open = () => ({}) as IDBOpenDBRequest;
  const request = () => ({});
  const store = new Proxy({}, { get: () => request });
  IDBDatabase.prototype.transaction = () =>
    ({ objectStore: () => store, commit() {}, abort() {} }) as unknown as IDBTransaction;
}

export { expect } from "@playwright/test";
