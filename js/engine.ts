/**
 * The Wasm module and its instance. It is compiled once; all guards and chains of this copy of the package share an instance, until one call
 * traps: then that instance is never called again, and whoever opens next gets a new one.
 */
import { describe, SeenGuardError } from "./errors.js";
import type { Glue } from "./generated/whole/glue.js";
import { BatchWriter } from "./ids.js";

export type RawGuard = InstanceType<Glue["RawGuard"]>;
export type RawChain = InstanceType<Glue["RawChain"]>;
type RawBatch = InstanceType<Glue["IdBatch"]>;

/** Where the module may come from; `undefined`: from where the entry point has it. */
export type WasmSource = string | URL | Response | BufferSource | WebAssembly.Module;

/** One live instance. */
export class Engine {
  readonly #glue: Glue;
  readonly #onTrap = new Set<(error: SeenGuardError) => void>();
  readonly batch: RawBatch;
  readonly writer: BatchWriter;
  trapped = false;

  constructor(glue: Glue, memory: WebAssembly.Memory) {
    this.#glue = glue;
    this.batch = new glue.IdBatch();
    this.writer = new BatchWriter(this.batch, memory);
  }

  newGuard(windowDays: number): RawGuard {
    return new this.#glue.RawGuard(windowDays);
  }

  newChain(...options: ConstructorParameters<Glue["RawChain"]>): RawChain {
    return new this.#glue.RawChain(...options);
  }

  randomWriterId(): string {
    return this.#glue.randomWriterId(globalThis.crypto);
  }

  /** Tells `listener` when this instance has trapped. Returns how to stop that. */
  onTrap(listener: (error: SeenGuardError) => void): () => void {
    this.#onTrap.add(listener);
    return () => this.#onTrap.delete(listener);
  }

  /** Calls into the module. Nothing there throws but a trap, after which the instance's memory is not to be trusted. */
  call<T, Fallback>(fallback: Fallback, run: () => T): T | Fallback {
    if (this.trapped) return fallback;
    try {
      return run();
    } catch (cause) {
      this.trapped = true;
      if (live === this) live = undefined;
      const error = new SeenGuardError("trap", `the Wasm instance trapped: ${describe(cause)}`, cause);
      for (const listener of this.#onTrap) listener(error);
      return fallback;
    }
  }
}

/** Makes the glue of one instance. That of a page's module has no chains and that of a chain's no guards, which nothing there asks for. */
export type CreateGlue = () => Glue;

let createGlue: CreateGlue | undefined;
let compileDefault: (() => Promise<WebAssembly.Module>) | undefined;
let compiled: Promise<WebAssembly.Module> | undefined;
let live: Engine | undefined;
let starting: Promise<Engine> | undefined;

/** Says what the entry point's module is called by. */
export function provideGlue(create: CreateGlue): void {
  createGlue = create;
}

/** Says where the entry point has the module. */
export function provideWasm(compile: () => Promise<WebAssembly.Module>): void {
  compileDefault = compile;
}

/** The instance of this copy of the package. Rejects with `wasm-unavailable`; with `bad-option` if nobody said where the module is. */
export async function loadEngine(source?: WasmSource): Promise<Engine> {
  if (live !== undefined) return live;
  if (source === undefined && compiled === undefined && compileDefault === undefined) {
    throw new SeenGuardError(
      "bad-option",
      "seenguard/slim needs the option wasm: where seenguard.wasm is, or what it holds",
    );
  }
  starting ??= start(source).finally(() => {
    starting = undefined;
  });
  return starting;
}

async function start(source: WasmSource | undefined): Promise<Engine> {
  try {
    compiled ??= source === undefined ? compileDefault?.() : compile(source);
    const module = await compiled;
    const glue = createGlue?.();
    if (module === undefined || glue === undefined) throw new Error("no module");
    const { memory } = await glue.init({ module_or_path: module });
    live = new Engine(glue, memory);
    return live;
  } catch (cause) {
    // The next one to open may try again.
    compiled = undefined;
    throw new SeenGuardError(
      "wasm-unavailable",
      `WebAssembly is not available, so everything passes: ${describe(cause)}`,
      cause,
    );
  }
}

async function compile(source: WasmSource): Promise<WebAssembly.Module> {
  if (source instanceof WebAssembly.Module) return source;
  if (typeof source === "string" || source instanceof URL) return compileResponse(await fetch(source));
  if (typeof Response === "function" && source instanceof Response) return compileResponse(source);
  return WebAssembly.compile(source as BufferSource);
}

async function compileResponse(response: Response): Promise<WebAssembly.Module> {
  if (!response.ok) throw new Error(`${response.url} answered ${String(response.status)}`);
  // A wrong MIME type makes streaming fail where the bytes themselves are right.
  return WebAssembly.compileStreaming(response.clone()).catch(async () =>
    WebAssembly.compile(await response.arrayBuffer()),
  );
}
