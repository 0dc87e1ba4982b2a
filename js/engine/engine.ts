/**
 * The Wasm module and its instance. It is compiled once; all guards and chains of this copy of the package share an instance, until one call
 * traps: then that instance is never called again, and whoever opens next gets a new one.
 */
import { failure, type ErrorListener } from "../errors.js";
import type { Wasm } from "../generated/whole/wasm.js";
import { BatchWriter } from "../ids.js";

/** Where the module may come from, if the entry point does not have it. */
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

let compile: (source?: WasmSource) => Promise<WebAssembly.Module>;
let compiled: Promise<WebAssembly.Module> | undefined;
let live: Promise<Engine> | undefined;

/** Says how the entry point has the module. */
export function provideWasm(from: typeof compile): void {
  compile = from;
}

/** The instance of this copy of the package. Rejects with `wasm-unavailable`; with `bad-option` if nobody said where the module is. */
export async function loadEngine(source?: WasmSource): Promise<Engine> {
  if (!live) {
    compiled ??= compile(source);
    live = compiled
      .then(async (module) => new Engine((await WebAssembly.instantiate(module)).exports as object as Wasm))
      .catch((cause: unknown) => {
        // The next one to open may try again.
        live = compiled = undefined;
        throw failure("wasm-unavailable", "WebAssembly is not available: everything passes", cause);
      });
  }
  return live;
}
