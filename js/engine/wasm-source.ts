/** Where the app has the Wasm module, for the entry point that is without it. */
import type { WasmSource } from "./engine.js";
import { refuse } from "../errors.js";

/** Compiles the module from wherever it is. Throws if nobody says where that is. */
export function compileSource(source?: WasmSource): Promise<WebAssembly.Module> {
  return source === undefined
    ? refuse("seenguard/slim needs the option wasm: the address or content of seenguard.wasm")
    : compile(source);
}

async function compile(source: WasmSource): Promise<WebAssembly.Module> {
  const given = typeof source === "string" || source instanceof URL ? await fetch(source) : source;
  if (!isResponse(given)) return given instanceof WebAssembly.Module ? given : WebAssembly.compile(given);
  if (!given.ok) throw new Error(`${given.url} answered ${given.status}`);
  // A wrong MIME type makes streaming fail where the bytes themselves are right.
  return WebAssembly.compileStreaming(given.clone()).catch(async () => WebAssembly.compile(await given.arrayBuffer()));
}

/** Not every environment has the class. */
function isResponse(given: object): given is Response {
  return "arrayBuffer" in given;
}
