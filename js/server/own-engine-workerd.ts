/** In the place of own-engine.ts in `seenguard/server/workerd`: the Wasm alone, compiled by the tool that deploys it. */
import type * as inlined from "./own-engine.js";
import wasm from "../generated/server/seenguard.wasm";

export const ownWasm: typeof inlined.ownWasm = () => wasm;

export const loadScript: typeof inlined.loadScript = (whyNotWasm) => Promise.reject(whyNotWasm);
