/** Realms of their own, which have the language alone, and copies of the package in them. */
import { readFileSync } from "node:fs";
import vm from "node:vm";

/** What a realm has beyond the ECMAScript of 2020, and what embedders take away. */
export const MAY_BE_MISSING = ["WebAssembly", "FinalizationRegistry", "WeakRef"];

/** A realm without the platform: no encoders, no timers, no console, no crypto, no performance. */
export function bareRealm(): { realm: vm.Context; run: (code: string) => unknown } {
  const realm = vm.createContext({});
  const run = (code: string): unknown => vm.runInContext(code, realm);
  for (const name of MAY_BE_MISSING) run(`delete globalThis.${name}`);
  return { realm, run };
}

/** Imports a module of dist/, as CommonJS, into a realm. */
export function importInto(realm: vm.Context, name: string): object {
  const source = readFileSync(new URL(`../../dist/${name}.cjs`, import.meta.url), "utf8");
  const wrapper = vm.runInContext(`(function (module, exports, require) {${source}\n})`, realm) as (
    module: object,
    exports: object,
    require: (path: string) => object,
  ) => void;
  const module = { exports: {} };
  wrapper(module, module.exports, (path) => importInto(realm, path.replace(/^\.\/(.*)\.cjs$/, "$1")));
  return module.exports;
}

/** A copy of the server's entry whose Wasm module was changed. */
export function serverWith(change: (wasm: Uint8Array) => Uint8Array<ArrayBuffer>) {
  const { realm } = bareRealm();
  const Module = new Proxy(WebAssembly.Module, {
    construct: (target, [wasm]: [Uint8Array]) => new target(change(wasm)),
  });
  const changed: unknown = Object.create(WebAssembly, { Module: { value: Module } });
  Object.assign(realm, { TextEncoder, TextDecoder, FinalizationRegistry, WebAssembly: changed });
  return importInto(realm, "server") as typeof import("seenguard/server");
}
