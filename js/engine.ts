/**
 * The Wasm module and its instance. It is compiled once; all guards and chains of this copy of the package share an instance, until one call
 * traps: then that instance is never called again, and whoever opens next gets a new one.
 */
import { failure, refuse, type ErrorListener } from "./errors.js";
import type { Wasm } from "./generated/whole/wasm.js";
import { BatchWriter } from "./ids.js";

/** Where the module may come from; `undefined`: from where the entry point has it. */
export type WasmSource = string | URL | Response | BufferSource | WebAssembly.Module;

/** One live instance. */
export class Engine {
  /**
   * What it offers: functions that take and give numbers, in Rust `src/web/`. A page's has none for chains and a chain's none for guards, which nothing
   * there asks for.
   */
  readonly wasm: Wasm;
  readonly writer: BatchWriter;
  /** Who is told when it has trapped. */
  readonly onTrap = new Set<ErrorListener>();
  #isTrapped = false;

  constructor(wasm: Wasm) {
    this.wasm = wasm;
    this.writer = new BatchWriter(wasm);
  }

  /** Calls into the module. Nothing there throws but a trap, after which the instance's memory is not to be trusted: then there is no result. */
  call<T>(run: () => T): T | undefined {
    if (this.#isTrapped) return undefined;
    try {
      return run();
    } catch (cause) {
      this.#isTrapped = true;
      // Whoever opens next gets another one.
      live = undefined;
      const error = failure("trap", "the Wasm instance trapped", cause);
      for (const listener of this.onTrap) listener(error);
      return undefined;
    }
  }
}

let compileDefault: (() => Promise<WebAssembly.Module>) | undefined;
let compiled: Promise<WebAssembly.Module> | undefined;
let live: Promise<Engine> | undefined;

/** Says where the entry point has the module. */
export function provideWasm(compile: () => Promise<WebAssembly.Module>): void {
  compileDefault = compile;
}

/** The instance of this copy of the package. Rejects with `wasm-unavailable`; with `bad-option` if nobody said where the module is. */
export async function loadEngine(source?: WasmSource): Promise<Engine> {
  if (live === undefined) {
    compiled ??= source === undefined ? compileDefault?.() : compile(source);
    if (compiled === undefined)
      return refuse("seenguard/slim needs the option wasm: where seenguard.wasm is, or what it holds");
    live = compiled
      .then(async (module) => new Engine((await WebAssembly.instantiate(module)).exports as object as Wasm))
      .catch((cause: unknown) => {
        // The next one to open may try again.
        live = compiled = undefined;
        throw failure("wasm-unavailable", "WebAssembly is not available, so everything passes", cause);
      });
  }
  return live;
}

async function compile(source: WasmSource): Promise<WebAssembly.Module> {
  const given = typeof source === "string" || source instanceof URL ? await fetch(source) : source;
  if (!isResponse(given)) return given instanceof WebAssembly.Module ? given : WebAssembly.compile(given);
  if (!given.ok) throw new Error(`${given.url} answered ${given.status}`);
  // A wrong MIME type makes streaming fail where the bytes themselves are right.
  return WebAssembly.compileStreaming(given.clone()).catch(async () => WebAssembly.compile(await given.arrayBuffer()));
}

/** Not every environment has the class. */
function isResponse(given: object): given is Response {
  return "arrayBuffer" in given;
}
