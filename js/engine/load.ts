/**
 * Loading the engine: once of each kind, when the first guard or chain needs it, for all of them in this copy of the
 * package.
 */
import { describe, failure, SeenGuardError } from "../errors.js";
import type * as client from "../generated/client/seenguard.js";
import type { GuardOptions, WasmSource } from "../types/seenguard.js";
import type { EngineMemory } from "./batch.js";
import { Engine, type EngineClasses } from "./engine.js";

export type EngineChoice = NonNullable<GuardOptions["engine"]>;

/** The glue that wasm-bindgen generated, and the module that it is to run. */
export interface WasmModule {
  readonly glue: EngineClasses & {
    default(input: { module_or_path: BufferSource | WebAssembly.Module }): Promise<{ memory: WebAssembly.Memory }>;
  };
  readonly wasm: BufferSource | WebAssembly.Module;
}

/** The engine as JavaScript: what the entry `seenguard/engine-js` exports. */
export interface ScriptModule {
  createEngine(): EngineClasses & { readonly memory: EngineMemory };
}

/** How an entry gets at its engines; nothing is loaded before it is needed. */
export interface EngineProvider {
  readonly wasm: (source?: WasmSource) => Promise<WasmModule>;
  readonly js?: () => Promise<ScriptModule>;
}

type AnyEngine = Engine<EngineClasses>;

let provider: EngineProvider | undefined;
/** By what was asked for: "auto" is one of the others. What fails is tried again by the next one who asks. */
const engines = new Map<EngineChoice, Promise<AnyEngine>>();

export function provideEngine(provided: EngineProvider): void {
  provider = provided;
}

/**
 * The engine of this copy of the package. Rejects with `wasm-unavailable`, after which the next call tries again; with
 * `trap` after a trap; with `bad-option` if nobody says where the module is.
 */
export async function loadEngine<Classes extends EngineClasses = Pick<typeof client, "Guard" | "TextBatch">>(
  choice: EngineChoice,
  source?: WasmSource,
): Promise<Engine<Classes>> {
  const engine = await loadOnce(choice, source);
  engine.assertUsable();
  return engine as Engine<Classes>;
}

function loadOnce(choice: EngineChoice, source?: WasmSource): Promise<AnyEngine> {
  const known = engines.get(choice);
  if (known) return known;
  const loading = load[choice](source);
  engines.set(choice, loading);
  loading.catch(() => engines.delete(choice));
  return loading;
}

const load: Readonly<Record<EngineChoice, (source?: WasmSource) => Promise<AnyEngine>>> = {
  async wasm(source) {
    try {
      // Told before anything is fetched for it.
      if (typeof WebAssembly === "undefined") throw new Error("WebAssembly is not defined");
      const { glue, wasm } = await provided().wasm(source);
      const { memory } = await glue.default({ module_or_path: wasm });
      return new Engine("wasm", glue, memory);
    } catch (cause) {
      throw unavailable("WebAssembly is not available", cause);
    }
  },

  async js() {
    try {
      const { js } = provided();
      if (!js) throw new Error("this entry has none");
      const { memory, ...classes } = (await js()).createEngine();
      return new Engine("js", classes, memory);
    } catch (cause) {
      throw unavailable("the JavaScript engine is not available", cause);
    }
  },

  async auto(source) {
    try {
      return await loadOnce("wasm", source);
    } catch (wasmError) {
      const { code, cause } = wasmError as SeenGuardError;
      if (code !== "wasm-unavailable" || canCompile()) throw wasmError;
      return loadOnce("js").catch((jsError: unknown) => {
        throw noneAvailable(cause, (jsError as SeenGuardError).cause);
      });
    }
  },
};

function provided(): EngineProvider {
  if (!provider) throw new Error("no entry of the package was imported");
  return provider;
}

function unavailable(message: string, cause: unknown): SeenGuardError {
  if (cause instanceof SeenGuardError) return cause;
  return failure("wasm-unavailable", `${message}: everything passes`, cause);
}

function noneAvailable(wasmCause: unknown, jsCause: unknown): SeenGuardError {
  const [wasm, js] = [describe(wasmCause), describe(jsCause)];
  const message = `neither WebAssembly (${wasm}) nor the JavaScript engine (${js}) is available: everything passes`;
  return new SeenGuardError("wasm-unavailable", message, [wasmCause, jsCause]);
}

/** Whether Wasm may be compiled here: a page's policy may forbid it. Tells it by an empty module. */
function canCompile(): boolean {
  try {
    return Boolean(new WebAssembly.Module(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0)));
  } catch {
    return false;
  }
}
