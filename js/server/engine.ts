/** The engine for the server's classes. Failures throw, so that the caller does not store a wrong chain. */
import { Engine } from "../engine/engine.js";
import { failure, SeenGuardError } from "../errors.js";
import { glue, initSync } from "../generated/server/seenguard.js";
import type { ItemId } from "../types/server.js";
import { loadScript, wasmSource } from "./engine-source.js";

export type ServerEngine = Engine<typeof glue>;

/** The engine of this copy of the package, once it is started. */
let engine: ServerEngine | undefined;
/** The asynchronous start in progress. */
let starting: Promise<ServerEngine> | undefined;

/** Starts the engine synchronously. Throws `engine` where that is not possible, and after a trap. */
export function serverEngine(): ServerEngine {
  try {
    engine ??= new Engine("wasm", glue, initSync({ module: wasmSource() }).memory);
  } catch (cause) {
    const remedy = "await ShardChain.create() or NearDuplicates.create() first";
    throw failure("engine", `the engine cannot start here without waiting: ${remedy}`, cause);
  }
  return usable(engine);
}

/**
 * Starts the same engine on any platform: on its main thread, Chrome before 114 compiles no module over 4 KB
 * synchronously, and runtimes without Wasm run it as JavaScript. Rejects with `engine` after a trap.
 */
export async function loadServerEngine(): Promise<ServerEngine> {
  try {
    return serverEngine();
  } catch {
    // The asynchronous start may succeed; an engine that has trapped is refused below.
  }
  try {
    // Concurrent callers share one start.
    const started = await (starting ??= start());
    engine ??= started;
  } catch (cause) {
    starting = undefined;
    throw failure("engine", "the server's engine does not start", cause);
  }
  return usable(engine);
}

async function start(): Promise<ServerEngine> {
  try {
    return new Engine("wasm", glue, (await glue.instantiate(wasmSource())).memory);
  } catch (cause) {
    const { createEngine } = await loadScript(cause as Error);
    const { memory, ...script } = createEngine();
    return new Engine("js", script, memory);
  }
}

/** Throws `engine` after a trap. */
const usable = (engine: ServerEngine): ServerEngine => call(engine, () => engine);

/** Calls into the engine. Throws for input that it refuses, and after a trap. */
export function call<T>(engine: ServerEngine, run: () => T): T {
  const result = engine.call(() => {
    try {
      return { value: run() };
    } catch (cause) {
      throw refusalOf(cause) ?? cause;
    }
  });
  if (result === undefined) throw trapped();
  return result.value;
}

/** Calls into the engine with strings in its batch. */
export function callWith<T>(engine: ServerEngine, strings: readonly ItemId[], run: () => T): T {
  return call(engine, () => {
    if (!engine.writer.write(strings)) throw new SeenGuardError("too-large", "out of memory: pass less at once");
    const result = run();
    engine.writer.done();
    return result;
  });
}

/** Objects that must not be collected: the glue code would free them in corrupt memory. */
const abandoned: object[] = [];

/** Frees an object of the engine. After a trap it stays. */
export function freeIn(engine: ServerEngine, object: { free(): void }): void {
  if (engine.hasTrapped) abandoned.push(object);
  else engine.call(() => object.free());
}

function trapped(): SeenGuardError {
  return new SeenGuardError("engine", "the server's engine trapped: start this process again");
}

/** The error for input that the engine has refused. */
export function refusalOf(cause: unknown): SeenGuardError | undefined {
  if (typeof cause !== "object" || cause === null || cause instanceof Error) return undefined;
  const { code, message } = cause as { code?: string; message?: string };
  if (code === undefined || message === undefined) return undefined;
  if (
    code === "bad-option" ||
    code === "bad-snapshot" ||
    code === "bad-report" ||
    code === "too-large" ||
    code === "wrong-namespace"
  )
    return new SeenGuardError(code, message);
  if (code === "out-of-memory") return new SeenGuardError("too-large", "out of memory: pass less at once");
  // The reasons of the format's description: "bad-base64".
  return new SeenGuardError("bad-snapshot", `${code}: ${message}`);
}
