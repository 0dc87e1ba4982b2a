/** Loading the engine: once of each kind, when the first guard needs it, for all of them in this copy of the package. */
import { describe, failure, SeenGuardError } from "../errors.js";
import type { FormatArguments } from "../format.js";
import type { GuardOptions, WasmSource } from "../types/seenguard.js";
import type { EngineMemory } from "./batch.js";
import { Engine, type GuardClasses } from "./engine.js";

export type EngineChoice = NonNullable<GuardOptions["engine"]>;

/** The engine as JavaScript: what the entry `seenguard/engine-js` exports. */
export interface ScriptModule {
  createEngine(): GuardClasses & { readonly memory: EngineMemory };
}

type Wasm = BufferSource | WebAssembly.Module;

/** What wasm-bindgen generated. */
type Glue = GuardClasses & {
  default(input: { module_or_path: Wasm }): Promise<{ memory: WebAssembly.Memory }>;
};

/** Reads shards of the format that a snapshot names. What is wrong throws. */
export type ReadShards = (
  format: unknown,
  shards: readonly unknown[],
) => { readonly format: FormatArguments; readonly shards: readonly string[] };

/** How an entry gets at its engines; nothing is loaded before it is needed. */
export interface EngineProvider {
  readonly glue: () => Promise<Glue>;
  readonly wasm: (source?: WasmSource) => Wasm | Promise<Wasm>;
  readonly js?: () => Promise<ScriptModule>;
  /** Reads the formats that its engines know. */
  readonly readShards: ReadShards;
}

let provider: EngineProvider | undefined;
/** By what was asked for: "auto" is one of the others. What fails is tried again by the next one who asks. */
const engines = new Map<EngineChoice, Promise<Engine>>();

/** Reads shards of the formats that this entry's engines know. */
export const readShards: ReadShards = (format, shards) => provided().readShards(format, shards);

export function provideEngine(provided: EngineProvider): void {
  provider = provided;
}

/**
 * The engine of this copy of the package. Rejects with `wasm-unavailable`, after which the next call tries again; with
 * `trap` after a trap; with `bad-option` if nobody says where the module is.
 */
export async function loadEngine(choice: EngineChoice, source?: WasmSource): Promise<Engine> {
  const engine = await loadOnce(choice, source);
  engine.assertUsable();
  return engine;
}

function loadOnce(choice: EngineChoice, source?: WasmSource): Promise<Engine> {
  const known = engines.get(choice);
  if (known) return known;
  const loading = load[choice](source);
  engines.set(choice, loading);
  loading.catch(() => engines.delete(choice));
  return loading;
}

const load: Readonly<Record<EngineChoice, (source?: WasmSource) => Promise<Engine>>> = {
  async wasm(source) {
    try {
      // Told before anything is fetched for it.
      if (typeof WebAssembly === "undefined") throw new Error("WebAssembly is not defined");
      // Where they are files of their own, both are fetched at once.
      const [glue, wasm] = await Promise.all([provided().glue(), provided().wasm(source)]);
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
