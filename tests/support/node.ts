/** Fixtures of the tests in Node: guards, snapshots, storages, separate pages, seeded randomness. */
import { readFileSync } from "node:fs";
import vm from "node:vm";
import { SeenGuard } from "seenguard";
import { ShardChain } from "seenguard/server";
import type { ApplyResult, GuardOptions, ItemId, SeenGuardError, SeenStorage, Snapshot } from "seenguard";
import type { ChainOptions } from "seenguard/server";
import { onTestFinished, vi } from "vitest";
import { HOOK, type AppliedSnapshot, type Decision, type HookedGuard } from "../../js/guard/tools.js";

export { idsOf } from "./shards.js";

// A test that waits forever is wrong; one that a busy machine slows down is not.
vi.setConfig({ testTimeout: 60_000 });

/** A time on the server's clock, Unix seconds. */
export const NOW = 1_764_000_000;
export const DAY_SECONDS = 86_400;
export const DAY_MS = 86_400_000;

export type Package = typeof import("seenguard");

/** The engine of the guards that `openGuard` opens: the step `js-engine` runs the same tests on the other one. */
export const ENGINE = process.env.SEENGUARD_ENGINE === "js" ? "js" : "wasm";
/** The package's option for its tests. */
const ENGINE_OPTION = Symbol.for("seenguard.engine");
/** Selects the engine as JavaScript despite Wasm. */
export const ON_JS: object = { [ENGINE_OPTION]: "js" };
/** Selects the engine of this test run. */
export const ON_ENGINE = ENGINE === "js" ? ON_JS : {};

let namespaces = 0;

/** A namespace that no other test uses. */
export function uniqueNamespace(): string {
  namespaces++;
  return `home:reader-${String(namespaces)}`;
}

export interface OpenedGuard {
  readonly guard: SeenGuard;
  /** The errors of `onError`. */
  readonly errors: SeenGuardError[];
  /** The codes of it. */
  readonly codes: () => string[];
}

/** The reason of a refused snapshot as in the format's description; of another error its code. */
export function reasonOf({ code, message }: SeenGuardError): string {
  const [, reason] = /^([a-z0-9]+(?:-[a-z0-9]+)*): /.exec(message) ?? [];
  return code === "bad-snapshot" ? (reason ?? code) : code;
}

/** The refusal of a snapshot. */
export function refusalOf(result: ApplyResult): Extract<ApplyResult, { applied: false }> {
  if (result.applied) throw new Error("the snapshot was applied");
  return result;
}

/** The shards that a guard names in its requests. */
export function heldBy(guard: Pick<SeenGuard, "headers">): string {
  return guard.headers()["Seen-Held"] ?? "";
}

/** The events that a guard dispatches to its tools from now on, a microtask after each call. */
export function follow(guard: SeenGuard) {
  const decisions: Decision[] = [];
  const snapshots: AppliedSnapshot[] = [];
  const stop = (guard as object as HookedGuard)[HOOK]({
    decided: (decision) => decisions.push(decision),
    applied: (snapshot) => snapshots.push(snapshot),
  });
  return { decisions, snapshots, stop };
}

/** `SeenGuard` of each page. */
const pages = new WeakSet<Package["SeenGuard"]>();

/** The engine as JavaScript, for guards of any entry. */
export const fallback = () => import("seenguard/formats/engine-js");

/** Opens a guard, by default without a storage, and closes it when the test is over. */
export async function openGuard(
  options: Partial<GuardOptions> = {},
  { SeenGuard: Guard }: Pick<Package, "SeenGuard"> = { SeenGuard },
): Promise<OpenedGuard> {
  const errors: SeenGuardError[] = [];
  const onError = (error: SeenGuardError) => errors.push(error);
  const given = { namespace: uniqueNamespace(), storage: "none", onError, ...ON_ENGINE, ...options } as const;
  // Pages have the engine of a script tag.
  const guard = await Guard.open(ENGINE_OPTION in given && !pages.has(Guard) ? { fallback, ...given } : given);
  // Not awaited: the test's storage may never respond.
  onTestFinished(() => void guard.close());
  return { guard, errors, codes: () => errors.map(({ code }) => code) };
}

/**
 * A page of a browser: another instance of the package, with globals of its own, so that it shares only the passed objects
 * with other pages.
 */
export function newPage(globals: object = {}): Package {
  return openPage("", globals).seenguard;
}

/** A page whose globals a test can change before the package runs, and in which it can run code. */
export function openPage(
  before = "",
  globals: object = {},
  file = "seenguard.iife.js",
): { seenguard: Package; run: (code: string | vm.Script) => unknown } {
  const { TextEncoder, TextDecoder, performance, crypto, console, setTimeout, clearTimeout, queueMicrotask } =
    globalThis;
  const { URL, AbortController, Headers, MessageChannel } = globalThis;
  const page = vm.createContext({
    ...{ TextEncoder, TextDecoder, performance, crypto, console, setTimeout, clearTimeout, queueMicrotask },
    ...{ URL, AbortController, Headers, MessageChannel, Date },
    ...globals,
  });
  const run = (code: string | vm.Script): unknown =>
    typeof code === "string" ? vm.runInContext(code, page) : code.runInContext(page);
  run(before);
  run(readScript(file));
  if (ENGINE === "js") run(readScript("seenguard-engine-js.iife.js"));
  const seenguard = run("Seenguard") as Package;
  pages.add(seenguard.SeenGuard);
  return { seenguard, run };
}

const scripts = new Map<string, vm.Script>();

/** A file of the package for a script tag, to be run in a page. */
export function readScript(name: string): vm.Script {
  const file = new URL(`../../dist/${name}`, import.meta.url);
  const script = scripts.get(name) ?? new vm.Script(readFileSync(file, "utf8"));
  scripts.set(name, script);
  return script;
}

/** Records ids one after the other, a second apart by the device's clock, which only the test advances from then on. */
export function recordInTurn(guard: Pick<SeenGuard, "record">, ids: Iterable<ItemId>): void {
  vi.useFakeTimers({ toFake: ["Date"] });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  for (const id of ids) {
    guard.record(id);
    vi.setSystemTime(Date.now() + 1000);
  }
}

/** The snapshot of a server that has recorded these ids. */
export async function shippedSnapshot(
  ids: Iterable<ItemId>,
  options: ChainOptions = {},
  now = NOW,
): Promise<Snapshot & { version: number; shards: string[] }> {
  const chain = await ShardChain.create(options);
  onTestFinished(() => chain.free());
  chain.record(ids, { now });
  return { version: 0, ...chain.snapshot({ now }) };
}

/** One encoded shard with these ids. */
export async function shardText(ids: Iterable<ItemId>, options: ChainOptions = {}): Promise<string> {
  const [text] = (await shippedSnapshot(ids, options)).shards;
  if (text === undefined) throw new Error("these ids make no shard");
  return text;
}

interface VectorCase {
  readonly base64: string;
  readonly answers: string;
  readonly epoch: number;
  readonly inserted: number;
  readonly count: number;
  readonly bits: number;
  readonly hashes: number;
  readonly seed: string;
  readonly expires: number;
}

/** The cases of a vector file, and the ids of their results. */
export function readVectors(name: "native" | "native-edges"): { ids: string[]; cases: VectorCase[] } {
  const read = (file: string): unknown =>
    JSON.parse(readFileSync(new URL(`../vectors/${file}.json`, import.meta.url), "utf8"));
  const { cases, ids_here: own } = read(name) as { cases: VectorCase[]; ids_here?: string[] };
  return { cases, ids: own ?? (read("ids") as string[]) };
}

/** Random numbers that a seed repeats (mulberry32). */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  /** From 0 up to 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** A whole number below a limit. */
  below(limit: number): number {
    return Math.floor(this.next() * limit);
  }

  pick<T>(list: readonly T[]): T {
    if (list.length === 0) throw new Error("nothing to pick from");
    return list[this.below(list.length)] as T;
  }
}

type Operation = "get" | "set" | "remove" | "keys";

/** A custom storage in memory. `before` runs before each operation and may throw. */
export class MapStorage implements SeenStorage {
  readonly values = new Map<string, string>();
  before: (operation: Operation, key: string) => void = () => {};

  get(key: string): string | undefined {
    this.before("get", key);
    return this.values.get(key);
  }

  set(key: string, value: string): void {
    this.before("set", key);
    this.values.set(key, value);
  }

  remove(key: string): void {
    this.before("remove", key);
    this.values.delete(key);
  }

  keys(): string[] {
    this.before("keys", "");
    return [...this.values.keys()];
  }

  /** Keys and values together, in UTF-16 units. */
  get size(): number {
    return [...this.values].reduce((sum, [key, value]) => sum + key.length + value.length, 0);
  }
}

interface Waiting {
  readonly operation: Operation;
  readonly key: string;
  /** The page that made it. */
  readonly page: string;
  readonly run: () => void;
}

/**
 * A storage whose operations wait until the test runs them. Pages share it, each through its own object.
 */
export class GatedStorage {
  readonly values = new Map<string, string>();
  readonly waiting: Waiting[] = [];

  /** The storage object for one page. */
  face(page: string): SeenStorage {
    const wait = <T>(operation: Operation, key: string, act: () => T) =>
      new Promise<T>((resolve) => {
        const run = () => {
          resolve(act());
        };
        this.waiting.push({ operation, key, page, run });
      });
    const { values } = this;
    return {
      get: (key) => wait("get", key, () => values.get(key)),
      set: (key, value) =>
        wait("set", key, () => {
          values.set(key, value);
        }),
      remove: (key) =>
        wait("remove", key, () => {
          values.delete(key);
        }),
      keys: () => wait("keys", "", () => [...values.keys()]),
    };
  }

  /** Runs the waiting operations, of one page or of all, in order, until `done` resolves. */
  async releaseUntil(done: Promise<unknown>, { page }: { page?: string } = {}): Promise<void> {
    const state = { finished: false };
    const finish = () => {
      state.finished = true;
    };
    done.then(finish, finish);
    await settled();
    while (!state.finished) {
      const next = this.waiting.findIndex((waiting) => page === undefined || waiting.page === page);
      if (next >= 0) this.waiting.splice(next, 1)[0]?.run();
      await settled();
    }
  }

  /** Runs the operations of one page, up to the one that `isWanted` selects, which then waits. */
  async releaseUpTo(page: string, isWanted: (waiting: Waiting) => boolean): Promise<void> {
    for (;;) {
      await settled();
      if (this.waiting.some((waiting) => waiting.page === page && isWanted(waiting))) return;
      const next = this.waiting.findIndex((waiting) => waiting.page === page);
      if (next >= 0) this.waiting.splice(next, 1)[0]?.run();
    }
  }
}

/** Resolves when all microtasks and tasks that are due have run, except timers. */
export function settled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** A chain until the test is over. */
export const createChain = (options?: ChainOptions): Promise<ShardChain> => chainFrom([], options);

/** A chain that continues a stored one, until the test is over. */
export async function chainFrom(stored: Snapshot | readonly string[], options?: ChainOptions): Promise<ShardChain> {
  const chain = await ShardChain.from(stored, options);
  onTestFinished(() => chain.free());
  return chain;
}
