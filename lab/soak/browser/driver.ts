/** The soak's interface to a browser. */
import type { App } from "./app.ts";

/** A sample of the longest-lived tab, after a garbage collection if the browser supports it. */
export interface TabSample {
  /** Bytes of the JavaScript heap, including machine code. */
  readonly heap?: number;
  /** Live JavaScript objects. */
  readonly objects?: number;
  /** DOM nodes and event listeners. */
  readonly nodes?: number;
  readonly listeners?: number;
}

export interface Tab {
  /** Calls a method of the page's app. */
  call<K extends keyof App>(name: K, ...args: Parameters<App[K]>): Promise<Awaited<ReturnType<App[K]>>>;
  reload(): Promise<void>;
  close(): Promise<void>;
  /** Kills the page's renderer process, or closes the page without events if the browser cannot. */
  kill(): Promise<void>;
  sample(): Promise<TabSample>;
  /** Throttles the page's processor, if the browser can. */
  slowDown(factor: number): Promise<void>;
  /** Limits the origin's storage to this much more than it uses; `undefined` removes the limit. */
  limitStorage(moreBytes: number | undefined): Promise<void>;
}

export interface DrivenBrowser {
  readonly version: string;
  newTab(url: string): Promise<Tab>;
  setOffline(isOffline: boolean): Promise<void>;
  /** The resident bytes of all its processes. */
  residentBytes(): number;
  /** Kills the browser by SIGKILL. */
  kill(): Promise<void>;
}

export interface Driver {
  readonly name: "chromium" | "firefox";
  /** Starts the browser over a profile, perhaps of a killed one. */
  start(profile: string): Promise<DrivenBrowser>;
}

/** The expression that calls a method of the page's app. */
export function expressionOf(name: string, args: readonly unknown[]): string {
  return `app.${name}(${args.map((arg) => JSON.stringify(arg)).join(", ")})`;
}
