/** Shares the JavaScript engine of a second script tag. */
import type { ScriptModule } from "./load.js";

const ENGINE = Symbol.for("seenguard.engine-js");

const globals = globalThis as unknown as Record<symbol, ScriptModule | undefined>;

export function shareEngine(engine: ScriptModule): void {
  globals[ENGINE] = engine;
}

export function findEngine(): Promise<ScriptModule> {
  const engine = globals[ENGINE];
  return engine ? Promise.resolve(engine) : Promise.reject(new Error("seenguard-engine-js.iife.js is not loaded"));
}
