/** The engine as the server's classes use it: what has no answer throws, since whoever stores a chain must know. */
import type { Engine } from "../engine/engine.js";
import { loadEngine, provideEngine } from "../engine/load.js";
import { ownModule } from "../engine/wasm-hex.js";
import { describe, SeenGuardError } from "../errors.js";
import type * as server from "../generated/server/seenguard.js";
import ownWasm from "../generated/server/seenguard.wasm";
import type { ItemIdList } from "../ids.js";
import type { ItemId } from "../types/server.js";

export type ServerEngine = Engine<typeof server>;

/** Has the engine run the server's module. */
export function provideServerEngine(): void {
  provideEngine({
    wasm: async () => ({
      glue: await import("../generated/server/seenguard.js"),
      wasm: ownModule(ownWasm),
    }),
  });
}

/** Rejects with `wasm-unavailable`, or with `trap` after one. */
export async function loadServerEngine(): Promise<ServerEngine> {
  try {
    return await loadEngine<typeof server>("wasm");
  } catch (error) {
    const { code, cause } = error as SeenGuardError;
    if (code === "trap") throw trapped();
    throw new SeenGuardError(code, `the server's WebAssembly does not start: ${describe(cause)}`, cause);
  }
}

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
