/** The engine as the server's classes use it: what has no answer throws, since whoever stores a chain must know. */
import { Engine } from "../engine/engine.js";
import { ownModule } from "../engine/wasm-hex.js";
import { failure, SeenGuardError } from "../errors.js";
import start, {
  Chain,
  GivenOptions,
  initSync,
  Inspection,
  keepPending,
  listChange,
  NearDuplicates,
  pendingToKeep,
  plan,
  serverTimes,
  simhash,
  storeKeys,
  TextBatch,
} from "../generated/server/seenguard.js";
import ownWasm from "../generated/server/seenguard.wasm";
import type { ItemIdList } from "../ids.js";
import type { ItemId } from "../types/server.js";

/** By their names: of a whole module, bundlers make an object by a loop over what `Object.prototype` has, too. */
const classes = {
  ...{ Chain, GivenOptions, Inspection, NearDuplicates, TextBatch },
  ...{ keepPending, listChange, pendingToKeep, plan, serverTimes, simhash, storeKeys },
};

export type ServerEngine = Engine<typeof classes>;

/** The engine of this copy of the package, once it runs. */
let engine: ServerEngine | undefined;

/** Starts the engine without waiting. Throws `wasm-unavailable` where that is not possible, and `trap` after a trap. */
export function serverEngine(): ServerEngine {
  try {
    engine ??= engineIn(initSync({ module: ownModule(ownWasm) }));
  } catch (cause) {
    const remedy = "await ShardChain.create() or NearDuplicates.create() first";
    throw failure("wasm-unavailable", `WebAssembly cannot start here without waiting: ${remedy}`, cause);
  }
  return usable(engine);
}

/**
 * The same engine wherever there is WebAssembly: on its main thread, Chrome before 114 compiles no module over 4 KB
 * without waiting. Rejects with `wasm-unavailable`, or with `trap` after one.
 */
export async function loadServerEngine(): Promise<ServerEngine> {
  try {
    return serverEngine();
  } catch {
    // It may with waiting; one that has trapped is refused below.
  }
  try {
    const exports = await start({ module_or_path: ownModule(ownWasm) });
    engine ??= engineIn(exports);
  } catch (cause) {
    throw failure("wasm-unavailable", "the server's WebAssembly does not start", cause);
  }
  return usable(engine);
}

function engineIn({ memory }: { readonly memory: WebAssembly.Memory }): ServerEngine {
  return new Engine("wasm", classes, memory);
}

/** Throws `trap` after one. */
const usable = (engine: ServerEngine): ServerEngine => call(engine, () => engine);

/** Calls into the module. Throws what it refuses, and after a trap. */
export function call<T>(engine: ServerEngine, run: () => T): T {
  const result = engine.call(() => ({ value: run() }));
  if (result === undefined) throw trapped();
  return result.value;
}

/** Calls into the module with each part of the ids in the engine's batch. `start`: the index of the part's first. */
export function callWithParts(engine: ServerEngine, ids: readonly ItemId[], run: (start: number) => void): void {
  call(engine, () => {
    for (let start = 0; start < ids.length;) {
      const { end, fits } = engine.writer.writePart(ids, start);
      if (!fits) throw outOfMemory();
      run(start);
      start = end;
    }
    engine.writer.done();
  });
}

/** The same with the ids of all items at once. */
export function callWithAll<T>(engine: ServerEngine, list: ItemIdList, run: () => T): T {
  return call(engine, () => {
    if (!engine.writer.writeAllItems(list)) throw outOfMemory();
    const result = run();
    engine.writer.done();
    return result;
  });
}

function outOfMemory(): SeenGuardError {
  return new SeenGuardError("out-of-memory", "there is no memory for what was passed");
}

function trapped(): SeenGuardError {
  return new SeenGuardError("trap", "the server's Wasm module trapped: this process has to be started anew");
}
