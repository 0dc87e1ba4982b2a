/** Where the script-tag file looks for the JavaScript engine: in what a second script tag has left. */
import type { ScriptModule } from "./load.js";

const ENGINE = Symbol.for("seenguard.engine-js");

const place = globalThis as unknown as Record<symbol, ScriptModule | undefined>;

export function leaveEngine(engine: ScriptModule): void {
  place[ENGINE] = engine;
}

export function findEngine(): Promise<ScriptModule> {
  const engine = place[ENGINE];
  return engine ? Promise.resolve(engine) : Promise.reject(new Error("seenguard-engine-js.iife.js is not loaded"));
}
