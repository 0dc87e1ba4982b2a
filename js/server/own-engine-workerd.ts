/** In the place of own-engine.ts under the condition `workerd`: the Wasm alone, compiled by what deploys it. */
import type * as inlined from "./own-engine.js";
import wasm from "../generated/server/seenguard.wasm";

export const ownWasm: typeof inlined.ownWasm = () => wasm;

export const loadScript: typeof inlined.loadScript = (whyNotWasm) => Promise.reject(whyNotWasm);
