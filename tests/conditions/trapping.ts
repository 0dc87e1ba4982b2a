/** The package's own Wasm module, which traps when it is asked one thing. */
import { readFile } from "node:fs/promises";
import binaryen from "binaryen";
import { EXPLAIN } from "../../js/asked.js";

/** The function that is asked, and which of its parameters tells what. */
const ASKED = "ask";
const QUESTION = 3;

export async function trappingWasm(): Promise<Uint8Array<ArrayBuffer>> {
  const module = binaryen.readBinary(await readFile(new URL("../../dist/seenguard.wasm", import.meta.url)));
  const { ReferenceTypes, BulkMemory, BulkMemoryOpt, SignExt, NontrappingFPToInt, Multivalue, MutableGlobals } =
    binaryen.Features;
  module.setFeatures(
    ReferenceTypes | BulkMemory | BulkMemoryOpt | SignExt | NontrappingFPToInt | Multivalue | MutableGlobals,
  );
  try {
    const { value: name } = binaryen.getExportInfo(module.getExport(ASKED));
    const { params, results } = binaryen.getFunctionInfo(module.getFunction(name));
    const parameters = binaryen.expandType(params).map((type, index) => module.local.get(index, type));
    const isTrapping = module.i32.eq(module.local.get(QUESTION, binaryen.i32), module.i32.const(EXPLAIN));
    const answer = module.call(name, parameters, results);
    const body = module.block(null, [module.if(isTrapping, module.unreachable()), answer], results);
    module.addFunction("trapping", params, results, [], body);
    module.removeExport(ASKED);
    module.addFunctionExport("trapping", ASKED);
    if (module.validate() !== 1) throw new Error("the trapping module is not valid");
    return Uint8Array.from(module.emitBinary());
  } finally {
    module.dispose();
  }
}
