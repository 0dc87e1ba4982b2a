/** The soak's interface to a browser. */
import type { App } from "./app.ts";

/** A sample of the tab that lives the longest, after a garbage collection where the browser does one on demand. */
export interface TabSample {
  /** Bytes of the JavaScript heap, which has the machine code, too. */
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
  /** Kills what renders the page; where the browser offers no way to, closes it without a word to the page. */
  kill(): Promise<void>;
  sample(): Promise<TabSample>;
  /** Slows the page's processor down; where the browser cannot, does nothing. */
  slowDown(factor: number): Promise<void>;
  /** Gives the origin N bytes more than it uses, or, `undefined`, what it had before. */
  limitStorage(moreBytes: number | undefined): Promise<void>;
}

export interface DrivenBrowser {
  readonly version: string;
  newTab(url: string): Promise<Tab>;
  setOffline(isOffline: boolean): Promise<void>;
  /** Resident bytes of all its processes. */
  residentBytes(): number;
  /** By SIGKILL. */
  kill(): Promise<void>;
}

export interface Driver {
  readonly name: "chromium" | "firefox";
  /** Starts the browser over a profile, which a killed one may have left. */
  start(profile: string): Promise<DrivenBrowser>;
}

/** The expression that calls a method of the page's app. */
export function expressionOf(name: string, args: readonly unknown[]): string {
  return `app.${name}(${args.map((arg) => JSON.stringify(arg)).join(", ")})`;
}
