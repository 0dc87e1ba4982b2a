/**
 * `seenguard/slim`: the same as `seenguard`, without the inlined Wasm. The option `wasm` of `SeenGuard.open` is its
 * source.
 */
import type { GuardOptions as SharedOptions, SeenGuard as Guard } from "./seenguard.js";
export * from "./seenguard.js";

type DomURL = typeof globalThis extends { URL: { prototype: infer T } } ? T : { readonly href: string };
type DomResponse = typeof globalThis extends { Response: { prototype: infer T } } ? T : object;
type WasmModule = typeof globalThis extends { WebAssembly: { Module: { prototype: infer T } } } ? T : object;

/** A URL, a response of `fetch`, the bytes, or a compiled module, as on edge runtimes, which cannot compile bytes. */
export type WasmSource = string | DomURL | DomResponse | ArrayBuffer | ArrayBufferView | WasmModule;

export interface GuardOptions extends SharedOptions {
  /**
   * The source of `seenguard/seenguard.wasm` or `seenguard/formats.wasm`. Required once in a document, unless there is
   * no Wasm but a `fallback`.
   */
  wasm?: WasmSource;
}
export type SeenGuard = Guard;
export declare const SeenGuard: typeof Guard & { open(options: GuardOptions): Promise<SeenGuard> };
