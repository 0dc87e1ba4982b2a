/** Realms with only the globals of the language, and copies of the package in them. */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import vm from "node:vm";

/** Globals that are newer than ECMAScript 2020, or that embedders remove. */
export const MAY_BE_MISSING = ["WebAssembly", "FinalizationRegistry", "WeakRef"];

/** A realm without the platform: no encoders, no timers, no console, no crypto, no performance. */
export function bareRealm(): { realm: vm.Context; run: (code: string) => unknown } {
  const realm = vm.createContext({});
  const run = (code: string): unknown => vm.runInContext(code, realm);
  for (const name of MAY_BE_MISSING) run(`delete globalThis.${name}`);
  return { realm, run };
}

/** Imports a module of dist/, as CommonJS, into a realm: each file once. */
export function importInto(realm: vm.Context, name: string, modules = new Map<string, object>()): object {
  const known = modules.get(name);
  if (known) return known;
  const file = fileURLToPath(new URL(`../../dist/${name}.cjs`, import.meta.url));
  const source = readFileSync(file, "utf8");
  const wrapper = vm.runInContext(`(function (module, exports, require, __dirname) {${source}\n})`, realm) as (
    module: { exports: object },
    exports: object,
    require: (path: string) => object,
    directory: string,
  ) => void;
  const module = { exports: {} };
  const require = (path: string) => {
    const own = /^\.\/(.*)\.cjs$/.exec(path)?.[1];
    return own === undefined ? (requireOfNode(path) as object) : importInto(realm, own, modules);
  };
  wrapper(module, module.exports, require, dirname(file));
  modules.set(name, module.exports);
  return module.exports;
}

const requireOfNode = createRequire(import.meta.url);

/** A copy of the server's entries whose Wasm module was changed. */
export function serverWith(change: (wasm: Uint8Array) => Uint8Array<ArrayBuffer>) {
  const { realm } = bareRealm();
  const Module = new Proxy(WebAssembly.Module, {
    construct: (target, [wasm]: [Uint8Array]) => new target(change(wasm)),
  });
  const changed: unknown = Object.create(WebAssembly, { Module: { value: Module } });
  const timers = { setTimeout, clearTimeout, performance };
  Object.assign(realm, { TextEncoder, TextDecoder, FinalizationRegistry, ...timers, WebAssembly: changed });
  const modules = new Map<string, object>();
  return {
    ...(importInto(realm, "server", modules) as typeof import("seenguard/server")),
    ...(importInto(realm, "near-duplicates", modules) as typeof import("seenguard/near-duplicates")),
  };
}
