/** The package's own Wasm modules with a function that traps. */
import { readFileSync } from "node:fs";
import binaryen from "binaryen";
import { openPage, type Package } from "../support/node.js";

const INSTANTIATE_TRAPPING = `{
  const { instantiate } = WebAssembly;
  WebAssembly.instantiate = (_, imports) => instantiate(trapping, imports);
}`;

let trapping: Uint8Array | undefined;

/** A page of its own whose engine traps when a guard explains. */
export function newTrappingPage(globals: object = {}): Package {
  trapping ??= withTrap(readFileSync(new URL("../../dist/seenguard.wasm", import.meta.url)), "guard_explain");
  return openPage(INSTANTIATE_TRAPPING, { trapping, ...globals }).seenguard;
}

/** The module, whose export of that name traps. */
export function withTrap(wasm: Uint8Array, exported: string): Uint8Array<ArrayBuffer> {
  const module = binaryen.readBinary(wasm);
  const { BulkMemory, BulkMemoryOpt, SignExt, NontrappingFPToInt, Multivalue, MutableGlobals } = binaryen.Features;
  module.setFeatures(BulkMemory | BulkMemoryOpt | SignExt | NontrappingFPToInt | Multivalue | MutableGlobals);
  try {
    const { value: name } = binaryen.getExportInfo(module.getExport(exported));
    const { params, results } = binaryen.getFunctionInfo(module.getFunction(name));
    module.addFunction("trapping", params, results, [], module.unreachable());
    module.removeExport(exported);
    module.addFunctionExport("trapping", exported);
    if (module.validate() !== 1) throw new Error("the trapping module is not valid");
    return Uint8Array.from(module.emitBinary());
  } finally {
    module.dispose();
  }
}
