/** In the place of own-engine.ts in `seenguard/server/workerd`: the Wasm alone, compiled by the tool that deploys it. */
import type * as inlined from "./own-engine.js";
import wasm from "../generated/server/seenguard.wasm";

export const ownWasm: typeof inlined.ownWasm = () => wasm as unknown as WebAssembly.Module;

export const loadScript: typeof inlined.loadScript = (whyNotWasm) => Promise.reject(whyNotWasm as Error);
