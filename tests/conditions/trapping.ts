/** The package's own Wasm module, which traps when a guard is asked to explain. */
import { readFile } from "node:fs/promises";
import binaryen from "binaryen";

const EXPORT = "guard_explain";

export async function trappingWasm(): Promise<Uint8Array<ArrayBuffer>> {
  const module = binaryen.readBinary(await readFile(new URL("../../dist/seenguard.wasm", import.meta.url)));
  const { BulkMemory, BulkMemoryOpt, SignExt, NontrappingFPToInt, Multivalue, MutableGlobals } = binaryen.Features;
  module.setFeatures(BulkMemory | BulkMemoryOpt | SignExt | NontrappingFPToInt | Multivalue | MutableGlobals);
  try {
    const { value: name } = binaryen.getExportInfo(module.getExport(EXPORT));
    const { params, results } = binaryen.getFunctionInfo(module.getFunction(name));
    module.addFunction("trapping", params, results, [], module.unreachable());
    module.removeExport(EXPORT);
    module.addFunctionExport("trapping", EXPORT);
    if (module.validate() !== 1) throw new Error("the trapping module is not valid");
    return Uint8Array.from(module.emitBinary());
  } finally {
    module.dispose();
  }
}
