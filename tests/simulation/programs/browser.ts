/**
 * A browser in a process: one profile of one origin with its tabs, whose clock, chance, storage and events are the
 * program's. Each document has a copy of the package and an engine of its own; what happens after its end never reaches
 * it.
 */
import { writeSync } from "node:fs";
import type { SeenGuard, SeenGuardError } from "seenguard";
import type { Ledger } from "./ledger.js";
import { wasmModule, type Package } from "./package.js";

/** When every program begins, Unix ms. */
export const BEGIN_MS = 1_764_000_000_000;

/** Random numbers that a seed repeats (mulberry32). */
export class Random {
  private state: number;

  constructor(seed: number) {
    this.state = seed;
  }

  /** From 0 up to 1. */
  next(): number {
    this.state = (this.state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }
}

/** Resolves when everything that follows from what has happened has run. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** How one transaction, or one call to a custom store, ends. */
export type Outcome =
  | { readonly way: "works" | "fails" | "fails though done" | "is full" | "loses the connection" }
  | { readonly way: "is late"; readonly ms: number }
  | { readonly way: "is silent"; readonly isDone: boolean };

/** Whether a browser has a kind of storage. */
export type Access = "works" | "absent" | "denied";

export interface World {
  readonly seed: number;
  readonly indexedDb: Access;
  readonly local: Access;
  readonly isCustom: boolean;
}

interface Task {
  readonly dueMs: number;
  readonly order: number;
  readonly document: PageDocument | undefined;
  readonly run: () => void;
}

/** A task that makes more calls to the browser than this is in an endless loop. */
const MAX_CALLS = 5_000;
const engine = wasmModule();

/** Instances of the module that documents have used, and how many documents each has served. */
const instances: { readonly exports: WebAssembly.Exports; readonly uses: number }[] = [];
const MAX_USES = 40;

export class Browser {
  readonly world: World;
  readonly random: Random;
  readonly ledger: Ledger;
  /** Gives a document a copy of the package. */
  readonly load: (document: PageDocument) => Package;
  nowMs = BEGIN_MS;
  /** The difference between the device's clock and the time that has passed. */
  clockMs = 0;
  readonly rows = new Map<string, string>();
  readonly custom = new Map<string, string>();
  readonly local = new Map<string, string>();
  /** The most characters in localStorage; `setItem` throws beyond. */
  localRoom = Infinity;
  /** Whether `setItem` does nothing and throws nothing. */
  isLocalDeaf = false;
  outcomes: readonly Outcome[] = [];
  readonly documents: PageDocument[] = [];
  private drawn = 0;
  private orders = 0;
  private readonly tasks: Task[] = [];
  private calls = 0;
  taskNumber = 0;
  /** The bodies of requests to the server. */
  readonly requests: string[] = [];

  constructor(world: World, ledger: Ledger, load: Browser["load"]) {
    [this.world, this.ledger, this.load] = [world, ledger, load];
    this.random = new Random(world.seed);
  }

  get wallMs(): number {
    return this.nowMs + this.clockMs;
  }

  get live(): PageDocument[] {
    return this.documents.filter(({ isDead }) => !isDead);
  }

  /** Whether what a page has committed is done although it is gone. */
  survives = (): boolean => this.random.next() < 0.5;

  /** How the next request ends. */
  draw(): Outcome {
    return this.outcomes[this.drawn++ % this.outcomes.length] ?? { way: "works" };
  }

  /** Counts a call of a document. An endless loop ends here. */
  count(): void {
    if (++this.calls < MAX_CALLS) return;
    if (this.calls > 100 * MAX_CALLS) {
      // The package catches what is thrown here, and continues forever.
      writeSync(2, "a task of a program does not end\n");
      process.kill(process.pid, "SIGKILL");
    }
    this.ledger.violated(`a task makes ${String(MAX_CALLS)} calls`);
    throw new Error("an endless loop");
  }

  /** Runs later, if the document is still there. Returns cancel. */
  after(ms: number, document: PageDocument | undefined, run: () => void): Task {
    const dueMs = this.nowMs + (ms > 0 ? ms : 0);
    const task = { dueMs, order: this.orders++, document, run };
    const index = 1 + this.tasks.findLastIndex((other) => other.dueMs <= dueMs);
    this.tasks.splice(index, 0, task);
    return task;
  }

  cancel(task: unknown): void {
    const index = this.tasks.indexOf(task as Task);
    if (index >= 0) this.tasks.splice(index, 1);
  }

  timersOf(document: PageDocument): number {
    return this.tasks.filter((task) => document.timers.has(task)).length;
  }

  /** Runs something as a task of its own, and what follows from it. */
  async task(run: () => void): Promise<void> {
    this.calls = 0;
    this.taskNumber++;
    run();
    await settled();
  }

  /** Advances the clock, and runs all that becomes due. */
  async advance(ms: number): Promise<void> {
    const endMs = this.nowMs + ms;
    let tasks = 0;
    for (let task = this.tasks[0]; task && task.dueMs <= endMs; task = this.tasks[0]) {
      this.tasks.shift();
      // No time passes, or hardly any.
      tasks = task.dueMs > this.nowMs + 1 ? 0 : tasks + 1;
      if (tasks > MAX_CALLS) {
        this.ledger.violated("tasks follow each other forever");
        this.ledger.assert();
      }
      this.nowMs = Math.max(this.nowMs, task.dueMs);
      if (!task.document?.isDead) await this.task(task.run);
    }
    this.nowMs = endMs;
  }

  open(isHidden = false): PageDocument {
    const document = new PageDocument(this, this.documents.length, isHidden);
    this.documents.push(document);
    return document;
  }

  /** The other documents receive the event in a later task, each in its own time. */
  storageEvent(from: PageDocument | undefined, key: string | null, oldValue: string | null, newValue: string | null) {
    for (const document of this.live)
      if (document !== from)
        this.after(this.random.below(30), document, () => {
          if (key !== null) this.ledger.signalled(document, key, newValue);
          document.dispatch("storage", { key, oldValue, newValue });
        });
  }
}

export type Listener = (event: object) => void;

/** A document in a tab, with the package loaded. */
export class PageDocument {
  readonly browser: Browser;
  readonly number: number;
  readonly seenguard: Package;
  readonly errors: SeenGuardError[] = [];
  readonly timers = new Set<unknown>();
  readonly connections = new Set<object>();
  /** The ids in requests to the server. */
  readonly sent: string[] = [];
  isDead = false;
  /** Infinity: it is visible. */
  hiddenAtMs = Infinity;
  /** Whether it opens a guard or clears. */
  mayList = true;
  /** The number of open requests of IndexedDB without a response. */
  openings: number[] = [];
  /** Whether the next call into the engine traps. */
  traps = false;
  /** Grows with each trap: a new engine begins with what is stored. */
  engines = 0;
  /** Calls of methods of the engine's classes. */
  engineCalls = 0;
  /** How many transactions it has begun, and how often it has opened the database. */
  transactions = 0;
  openedTimes = 0;
  private readonly listeners = new Map<string, Set<Listener>>();
  private readonly onEnds = new Set<() => void>();

  constructor(browser: Browser, number: number, isHidden: boolean) {
    [this.browser, this.number] = [browser, number];
    if (isHidden) this.hiddenAtMs = browser.nowMs;
    this.seenguard = browser.load(this);
  }

  openGuard(options: object): Promise<SeenGuard> {
    const onError = (error: SeenGuardError) => this.errors.push(error);
    return this.seenguard.SeenGuard.open({ namespace: "home", wasm: engine, onError, ...options });
  }

  /** Calls when the document ends. Returns stop. */
  onEnd(call: () => void): () => void {
    this.onEnds.add(call);
    return () => this.onEnds.delete(call);
  }

  listen(type: string, listener: Listener): void {
    const listeners = this.listeners.get(type) ?? new Set();
    this.listeners.set(type, listeners.add(listener));
  }

  ignore(type: string, listener: Listener): void {
    this.listeners.get(type)?.delete(listener);
  }

  dispatch(type: string, fields: object = {}): void {
    for (const listener of [...(this.listeners.get(type) ?? [])]) listener({ type, ...fields });
  }

  get isHidden(): boolean {
    return this.hiddenAtMs !== Infinity;
  }

  setHidden(isHidden: boolean): void {
    this.hiddenAtMs = isHidden ? this.browser.nowMs : Infinity;
    this.dispatch("visibilitychange");
  }

  /** The tab closes, or the page navigates: its events, and then it is gone. */
  leave(): void {
    if (!this.isHidden) this.setHidden(true);
    this.dispatch("pagehide", { persisted: false });
    this.end();
  }

  /** It ends without an event, since its process was killed. */
  end(): void {
    this.isDead = true;
    for (const call of this.onEnds) call();
    this.onEnds.clear();
  }

  /** Instantiates the module at once, so that no time passes that the clock does not know of. */
  instantiate(module: WebAssembly.Module, imports: WebAssembly.Imports): Promise<WebAssembly.Instance> {
    this.engines++;
    // Memory is expensive: an instance serves some documents. Each has objects of its own in it.
    const known = instances.pop();
    const { exports, uses } = known ?? { exports: new WebAssembly.Instance(module, imports).exports, uses: 0 };
    if (uses < MAX_USES) instances.unshift({ exports, uses: uses + 1 });
    const own = Object.entries(exports).map(([name, value]) =>
      typeof value === "function" && !name.startsWith("__") ? [name, this.counted(value as Listener)] : [name, value],
    );
    const instance = Object.create(WebAssembly.Instance.prototype, {
      exports: { value: Object.fromEntries(own) as object },
    }) as WebAssembly.Instance;
    return Promise.resolve(instance);
  }

  private counted(call: (...given: never[]) => unknown): (...given: never[]) => unknown {
    return (...given) => {
      this.engineCalls++;
      this.browser.count();
      if (this.traps) {
        this.traps = false;
        throw new WebAssembly.RuntimeError("unreachable");
      }
      return call(...given);
    };
  }
}
