/**
 * Loads the engine: once of each kind, when the first guard needs it, shared by all guards of this copy of the package.
 */
import { attempt, withTimeout } from "../platform/host.js";
import { describe, failure, SeenGuardError } from "../errors.js";
import type { FormatArguments } from "../input/format.js";
import type { GuardOptions } from "../types/seenguard.js";
import type { WasmSource } from "../types/slim.js";
import type { EngineMemory } from "./batch.js";
import { Engine, type EngineKind, type GuardClasses } from "./engine.js";

/** The option of `SeenGuard.open` that selects the engine as JavaScript despite Wasm. Only tests use it. */
export const ENGINE = Symbol.for("seenguard.engine");

/** Timeout of the app's server or `fallback`. An engine that arrives later is used by the next attempt. */
const FETCH_TIMEOUT_MS = 8_000;

export type Fallback = NonNullable<GuardOptions["fallback"]>;

/** The engine as JavaScript: what the entry `seenguard/engine-js` exports. */
export interface ScriptModule {
  createEngine(): GuardClasses & { readonly memory: EngineMemory };
}

type Wasm = BufferSource | WebAssembly.Module;

/** Reads shards in the format of a snapshot. Throws for invalid ones. */
export type ReadShards = (
  format: unknown,
  shards: readonly unknown[],
) => { readonly format: FormatArguments; readonly shards: readonly string[] };

/** The engines of an entry, each loaded when it is needed. */
export interface EngineProvider {
  /** Absent: the platform has no WebAssembly. */
  readonly wasm?: {
    /** The glue code of wasm-bindgen. */
    readonly glue: GuardClasses;
    /** `source`: the option `wasm`, which an entry without a module of its own has. */
    readonly module: (source?: WasmSource) => Wasm | Promise<Wasm>;
  };
  /** The engine as JavaScript, unless the option names another. */
  readonly fallback?: Fallback;
  /** How an app gets the engine as JavaScript, for error messages. */
  readonly remedy: string;
  /** Reads the formats that its engines support. */
  readonly readShards: ReadShards;
}

/** The options of `SeenGuard.open` for the engine. */
export interface EngineOptions extends Pick<GuardOptions, "fallback"> {
  readonly [ENGINE]?: "js" | undefined;
  readonly wasm?: WasmSource;
}

/** A download by the app, which may never complete: of repeated requests the first result is used. */
class Fetched<T> {
  private resolve!: (value: T) => void;
  private readonly value = new Promise<T>((resolve) => (this.resolve = resolve));

  /** The result of this request or an earlier one, whichever comes first. Rejects after a timeout. */
  or(requested: Promise<T>): Promise<T> {
    requested.then(this.resolve, () => {});
    const late = new Error(`loading the engine timed out after ${FETCH_TIMEOUT_MS / 1000} s`);
    return withTimeout(FETCH_TIMEOUT_MS, Promise.race([this.value, requested]), late) as Promise<T>;
  }
}

export class Engines {
  readonly readShards: ReadShards;
  private readonly provider: EngineProvider;
  private readonly module = new Fetched<Wasm>();
  private readonly script = new Fetched<ScriptModule>();
  /** The engine of each kind, and the selected one. A failed load is repeated by the next call. */
  private readonly engines = new Map<EngineKind | "either", Promise<Engine>>();
  /** Engines that have trapped. */
  private readonly trapped: Engine[] = [];

  constructor(provider: EngineProvider) {
    this.provider = provider;
    this.readShards = provider.readShards;
  }

  /**
   * The engine of this copy of the package, after a trap a new one. Rejects with `engine`, after which the next call
   * tries again unless it has trapped twice; with `bad-option` if the option `wasm` is missing.
   */
  async load(options: EngineOptions): Promise<Engine> {
    const engine = await this.loadOnce(options[ENGINE] ?? "either", options);
    if (!engine.hasTrapped) return engine;
    // Several guards may report the same trap: the first one removes the engine. The engine of the other kind stays.
    if (!this.trapped.includes(engine)) {
      if (this.trapped.some(({ kind }) => kind === engine.kind)) {
        throw new SeenGuardError("engine", "the engine trapped twice: everything passes until the next document");
      }
      this.trapped.push(engine);
      for (const choice of [engine.kind, "either"] as const) this.engines.delete(choice);
    }
    return this.load(options);
  }

  private loadOnce(choice: EngineKind | "either", options: EngineOptions): Promise<Engine> {
    const known = this.engines.get(choice);
    if (known) return known;
    const loading = this[choice](options);
    this.engines.set(choice, loading);
    loading.catch(() => this.engines.delete(choice));
    return loading;
  }

  private async wasm({ wasm: source }: EngineOptions): Promise<Engine> {
    try {
      const { wasm } = this.provider;
      // Throw before anything is fetched.
      if (!wasm || typeof WebAssembly === "undefined") throw new Error("WebAssembly is not defined");
      const given = wasm.module(source);
      const module = given instanceof Promise ? await this.module.or(given) : given;
      const { memory } = await wasm.glue.instantiate(module);
      return new Engine("wasm", wasm.glue, memory);
    } catch (cause) {
      throw unavailable("WebAssembly is not available: everything passes", cause);
    }
  }

  private async js(options: EngineOptions): Promise<Engine> {
    try {
      const module = await this.script.or(this.fetchScript(options));
      const { memory, ...classes } = module.createEngine();
      return new Engine("js", classes, memory);
    } catch (cause) {
      throw unavailable("the JavaScript engine is not available: everything passes", cause);
    }
  }

  private async fetchScript({ fallback = this.provider.fallback }: EngineOptions): Promise<ScriptModule> {
    const module = (await fallback?.()) as Partial<ScriptModule> | undefined;
    if (typeof module?.createEngine !== "function") throw new Error(`pass ${this.provider.remedy}`);
    return module as ScriptModule;
  }

  private async either(options: EngineOptions): Promise<Engine> {
    try {
      return await this.loadOnce("wasm", options);
    } catch (wasmError) {
      const { code, cause } = wasmError as SeenGuardError;
      if (code !== "engine" || (this.provider.wasm && canCompile())) throw wasmError;
      // Another guard's fallback is shared.
      return this.loadOnce("js", options).catch((jsError: unknown) => {
        throw noneAvailable(cause, (jsError as SeenGuardError).cause);
      });
    }
  }
}

function unavailable(message: string, cause: unknown): SeenGuardError {
  if (cause instanceof SeenGuardError) return cause;
  return failure("engine", message, cause);
}

function noneAvailable(wasmCause: unknown, jsCause: unknown): SeenGuardError {
  const [wasm, js] = [describe(wasmCause), describe(jsCause)];
  const message = `neither WebAssembly (${wasm}) nor the JavaScript engine (${js}) is available: everything passes`;
  return new SeenGuardError("engine", message, [wasmCause, jsCause]);
}

/** Whether Wasm can be compiled, which a page's policy may forbid. Tests it with an empty module. */
function canCompile(): boolean {
  return attempt(() => new WebAssembly.Module(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0))) !== undefined;
}
