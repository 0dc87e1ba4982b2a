/** Compiles the Wasm module from any source that the app names. */
import { refuse } from "../errors.js";
import type { WasmSource } from "../types/slim.js";

/** Compiles the module that the option `wasm` names. */
export async function compileSource(source?: WasmSource): Promise<WebAssembly.Module> {
  if (source === undefined) {
    return refuse("seenguard/slim needs the option wasm: the address or content of seenguard.wasm");
  }
  const given: object = typeof source === "string" || "href" in source ? await fetchOrRead(String(source)) : source;
  if (given instanceof WebAssembly.Module) return given;
  return isResponse(given) ? compileResponse(given) : WebAssembly.compile(given as BufferSource);
}

/** Compiles while the module is downloaded, if the platform and the server support it. */
async function compileResponse(response: Response): Promise<WebAssembly.Module> {
  if (!response.ok) throw new Error(`${response.url} responded with status ${response.status}`);
  // With another MIME type streaming fails, but the bytes can be compiled; Safari 14 has no streaming.
  const isStreamable =
    "compileStreaming" in WebAssembly && response.headers.get("content-type")?.toLowerCase() === "application/wasm";
  return isStreamable ? WebAssembly.compileStreaming(response) : WebAssembly.compile(await response.arrayBuffer());
}

/** A part of Node's `process`, which returns Node's modules without an import that bundlers would have to resolve. */
interface Process {
  getBuiltinModule?(name: "node:fs/promises"): { readFile(path: URL): Promise<Uint8Array> };
}

/** Node's `fetch` does not support the scheme `file:`. */
function fetchOrRead(address: string): Promise<object> {
  const { process } = globalThis as { process?: Process };
  const files = address.startsWith("file:") ? process?.getBuiltinModule?.("node:fs/promises") : undefined;
  return files ? files.readFile(new URL(address)) : fetch(address);
}

/** Some environments lack the class. */
function isResponse(given: object): given is Response {
  return "arrayBuffer" in given;
}
