/** Replaces engine-source.ts under the condition `workerd`: Wasm only, compiled by the deployment tool. */
import type * as inlined from "./engine-source.js";
import wasm from "../generated/server/seenguard.wasm";

export const wasmSource: typeof inlined.wasmSource = () => wasm;

export const loadScript: typeof inlined.loadScript = (whyNotWasm) => Promise.reject(whyNotWasm);
