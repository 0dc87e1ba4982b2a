/**
 * `seenguard/slim`: the same as `seenguard`, without the Wasm in it. The option `wasm` of `SeenGuard.open` says where it
 * is.
 */
import type { GuardOptions as SharedOptions, SeenGuard as Guard } from "./seenguard.js";
export * from "./seenguard.js";

type DomURL = typeof globalThis extends { URL: { prototype: infer T } } ? T : { readonly href: string };
type DomResponse = typeof globalThis extends { Response: { prototype: infer T } } ? T : object;
type WasmModule = typeof globalThis extends { WebAssembly: { Module: { prototype: infer T } } } ? T : object;

/** An address, what `fetch` got from it, its content, or a module, as of runtimes at the edge, which compile no bytes. */
export type WasmSource = string | DomURL | DomResponse | ArrayBuffer | ArrayBufferView | WasmModule;

export interface GuardOptions extends SharedOptions {
  /**
   * Where `seenguard/seenguard.wasm` is, or `seenguard/formats.wasm`: needed once in a document, unless there is no Wasm
   * and a `fallback`.
   */
  wasm?: WasmSource;
}
export type SeenGuard = Guard;
export declare const SeenGuard: typeof Guard & { open(options: GuardOptions): Promise<SeenGuard> };
