/** In the place of engine-source.ts under the condition `workerd`: the Wasm alone, compiled by what deploys it. */
import type * as inlined from "./engine-source.js";
import wasm from "../generated/server/seenguard.wasm";

export const wasmSource: typeof inlined.wasmSource = () => wasm;

export const loadScript: typeof inlined.loadScript = (whyNotWasm) => Promise.reject(whyNotWasm);
