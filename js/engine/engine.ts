/**
 * The Wasm module: loaded once, when the first guard or chain needs it, and shared by all of them in this copy of the
 * package.
 *
 * A trap leaves the module's memory in an unknown state, so nothing calls into it again: until the next document
 * everything passes.
 */
import { failure, SeenGuardError, type ErrorListener } from "../errors.js";
import type * as client from "../generated/client/seenguard.js";
import type { ErrorCode, WasmSource } from "../types/seenguard.js";
import { TextBatchWriter } from "./batch.js";

/** What every build of the generated glue has. */
interface Glue {
  readonly TextBatch: typeof client.TextBatch;
  default(input: { module_or_path: BufferSource | WebAssembly.Module }): Promise<{ memory: WebAssembly.Memory }>;
}

/** The generated glue, and the module that it is to run. */
export interface LoadedModule<Classes extends Glue> {
  readonly glue: Classes;
  readonly wasm: BufferSource | WebAssembly.Module;
}

/** The module as it runs. `Classes`: the glue of the entry's build. */
export class Engine<Classes extends Glue = typeof client> {
  /** The generated classes. */
  readonly classes: Classes;
  readonly writer: TextBatchWriter;
  /** Told when the module traps. */
  readonly onTrap = new Set<ErrorListener>();
  private hasTrapped = false;
  /** Objects that must never be collected: the glue would free them in memory that is not to be trusted. */
  private readonly abandoned: object[] = [];

  constructor(classes: Classes, memory: WebAssembly.Memory) {
    this.classes = classes;
    this.writer = new TextBatchWriter(new classes.TextBatch(), memory);
  }

  /**
   * Calls into the module. Returns `undefined` if it traps, or has trapped before. Throws a `SeenGuardError` for what
   * the module refuses.
   */
  call<T>(run: () => T): T | undefined {
    if (this.hasTrapped) return undefined;
    try {
      return run();
    } catch (cause) {
      const refusal = refusalOf(cause);
      if (refusal) throw refusal;
      this.hasTrapped = true;
      const error = failure("trap", "the Wasm module trapped: everything passes", cause);
      for (const listener of [...this.onTrap]) listener(error);
      return undefined;
    }
  }

  /** Keeps an object of a module that has trapped from being freed. */
  abandon(object: object): void {
    this.abandoned.push(object);
  }

  /** Throws if the module has trapped. */
  assertUsable(): void {
    if (this.hasTrapped) {
      throw new SeenGuardError("trap", "the Wasm module trapped before in this document: everything passes");
    }
  }
}

/** What the module throws for input that it refuses; everything else that comes out of it is a trap. */
function refusalOf(cause: unknown): SeenGuardError | undefined {
  if (cause instanceof SeenGuardError) return cause;
  if (typeof cause !== "object" || cause === null || cause instanceof Error) return undefined;
  const { code, message } = cause as { code?: ErrorCode; message?: string };
  return code === undefined || message === undefined ? undefined : new SeenGuardError(code, message);
}

type Load = (source?: WasmSource) => Promise<LoadedModule<Glue>>;

let load: Load | undefined;
let loading: Promise<Engine<Glue>> | undefined;

/** Says how this entry gets its glue and its module; nothing is loaded before it is needed. */
export function provideEngine(provided: Load): void {
  load = provided;
}

/**
 * The engine of this copy of the package. Rejects with `wasm-unavailable`, after which the next call tries again; with
 * `trap` after a trap; with `bad-option` if nobody says where the module is.
 */
export async function loadEngine<Classes extends Glue = typeof client>(source?: WasmSource): Promise<Engine<Classes>> {
  loading ??= start(source).catch((cause: unknown) => {
    loading = undefined;
    if (cause instanceof SeenGuardError) throw cause;
    throw failure("wasm-unavailable", "WebAssembly is not available: everything passes", cause);
  });
  const engine = await loading;
  engine.assertUsable();
  return engine as Engine<Classes>;
}

async function start(source: WasmSource | undefined): Promise<Engine<Glue>> {
  if (!load) throw new Error("no entry of the package was imported");
  const { glue, wasm } = await load(source);
  const { memory } = await glue.default({ module_or_path: wasm });
  return new Engine(glue, memory);
}
