/**
 * Tabs of one browser in a process: pages of their own whose clock, chance and storage are the program's. A page is
 * loaded once and serves document after document, since loading it takes longer than a program.
 */
import vm from "node:vm";
import type { SeenGuard, SeenGuardError, SeenStorage } from "seenguard";
import {
  ENGINE,
  NOW,
  ON_ENGINE,
  Random,
  readScript,
  settled,
  uniqueNamespace,
  type Package,
} from "../../support/node.js";

type Operation = "get" | "set" | "remove" | "keys";

/** What a document asks of a storage. */
export interface Request {
  readonly document: TabDocument;
  readonly operation: Operation;
  readonly key: string;
  /** Does what was asked, and returns the answer. */
  readonly act: () => unknown;
}

/** What becomes of requests: answers, or promises of them. */
export type Storage = (request: Request) => unknown;

interface Timer {
  readonly dueMs: number;
  readonly document: TabDocument | undefined;
  readonly run: () => void;
}

/** A loaded page, and the document that is in it. */
interface Page {
  readonly seenguard: Package;
  readonly global: vm.Context;
  document: TabDocument | undefined;
  /** Then its engine answers no more. */
  hasTrapped: boolean;
}

/** Removes what copies of the package share in one document. */
const forgetShared = new vm.Script(`
  for (const symbol of Object.getOwnPropertySymbols(globalThis))
    if (symbol.description.startsWith("seenguard.registry")) delete globalThis[symbol];
`);

/** Where pages read the time and what is random: the device of the program that runs. */
let device: Device | undefined;
const pages: Page[] = [];

/** One document: what happens to it after its end never reaches it. */
export class TabDocument {
  readonly errors: SeenGuardError[] = [];
  isDead = false;
  private readonly listeners = new Set<() => void>();
  readonly page: Page;
  readonly storage: SeenStorage;

  constructor(page: Page, namespaceValues: Map<string, string>, storage: Storage) {
    this.page = page;
    const ask = (operation: Operation, key: string, act: () => unknown) =>
      storage({ document: this, operation, key, act }) as never;
    this.storage = {
      get: (key) => ask("get", key, () => namespaceValues.get(key)),
      set: (key, value) => ask("set", key, () => void namespaceValues.set(key, value)),
      remove: (key) => ask("remove", key, () => void namespaceValues.delete(key)),
      keys: () => ask("keys", "", () => [...namespaceValues.keys()]),
    };
  }

  /** Calls when the document ends. Returns stop, which says whether it has not ended before. */
  onEnd(call: () => void): () => boolean {
    this.listeners.add(call);
    return () => this.listeners.delete(call);
  }

  end(): void {
    this.isDead = true;
    for (const call of this.listeners) call();
    this.listeners.clear();
  }

  open(namespace: string): Promise<SeenGuard> {
    const onError = (error: SeenGuardError) => {
      this.errors.push(error);
      if (error.code === "engine") this.page.hasTrapped = true;
    };
    return this.page.seenguard.SeenGuard.open({ namespace, storage: this.storage, ...ON_ENGINE, onError });
  }
}

/** One device: its clock, and what its storage holds. */
export class Device {
  nowMs = NOW * 1000;
  readonly namespace = uniqueNamespace();
  readonly values = new Map<string, string>();
  readonly random: Random;
  private timers: Timer[] = [];
  private readonly storage: Storage;

  constructor(seed: number, storage: Storage) {
    this.random = new Random(seed);
    this.storage = storage;
  }

  /** A new document in the tab of this number, whose last one has ended. */
  newDocument(tab: number): TabDocument {
    const page = pages[tab];
    if (!page) throw new Error("this tab was not loaded");
    this.end(page.document);
    forgetShared.runInContext(page.global);
    page.document = new TabDocument(page, this.values, this.storage);
    return page.document;
  }

  /** The document is gone, and nothing in it runs any more. */
  end(document: TabDocument | undefined): void {
    if (!document) return;
    document.end();
    this.timers = this.timers.filter((timer) => timer.document !== document);
  }

  /** Calls later, if the document is still there. */
  after(ms: number, document: TabDocument | undefined, run: () => void): Timer {
    const timer = { dueMs: this.nowMs + ms, document, run };
    this.timers.push(timer);
    return timer;
  }

  cancel(timer: Timer): void {
    this.timers = this.timers.filter((other) => other !== timer);
  }

  /** Lets time pass, and all timers in it run. */
  async advance(ms: number): Promise<void> {
    const endMs = this.nowMs + ms;
    for (;;) {
      await settled();
      const [next] = this.timers.filter(({ dueMs }) => dueMs <= endMs).sort((a, b) => a.dueMs - b.dueMs);
      if (!next) break;
      this.cancel(next);
      this.nowMs = Math.max(this.nowMs, next.dueMs);
      next.run();
    }
    this.nowMs = endMs;
  }
}

/** Begins a program: from now on pages are on its device. */
export function startDevice(seed: number, storage: Storage): Device {
  device = new Device(seed, storage);
  return device;
}

function current(): Device {
  if (!device) throw new Error("no program runs");
  return device;
}

/** Loads so many tabs, each with an engine that runs: that takes time of which the programs' clock knows nothing. */
export async function loadTabs(count: number): Promise<void> {
  for (let tab = 0; tab < count; tab++) {
    if (pages[tab]?.hasTrapped === false) continue;
    const { namespace } = startDevice(0, ({ act }) => act());
    const page = loadPage();
    const guard = await page.seenguard.SeenGuard.open({ namespace, storage: "none", ...ON_ENGINE });
    await guard.close();
    pages[tab] = page;
  }
}

function loadPage(): Page {
  const page: { loaded?: Page } = {};
  const setTimeout = (run: () => void, ms = 0) => current().after(ms, page.loaded?.document, run);
  const clearTimeout = (timer: Timer) => current().cancel(timer);
  const { TextEncoder, TextDecoder, URL, AbortController } = globalThis;
  const performance = { timeOrigin: NOW * 1000, now: () => current().nowMs - NOW * 1000 };
  const global = vm.createContext({
    ...{ TextEncoder, TextDecoder, URL, AbortController, performance, setTimeout, clearTimeout },
    // What the package throws there, it throws in this process.
    queueMicrotask: globalThis.queueMicrotask,
    clock: () => current().nowMs,
    random: () => current().random.next(),
  });
  vm.runInContext("Date.now = clock; Math.random = random;", global);
  readScript("seenguard.iife.js").runInContext(global);
  if (ENGINE === "js") readScript("seenguard-engine-js.iife.js").runInContext(global);
  const seenguard = vm.runInContext("Seenguard", global) as Package;
  page.loaded = { seenguard, global, document: undefined, hasTrapped: false };
  return page.loaded;
}
