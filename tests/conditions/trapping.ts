/** The package's own Wasm module, which traps when it is asked one thing. */
import { readFile } from "node:fs/promises";
import binaryen from "binaryen";
import { EXPLAIN } from "../../js/asked.js";

/** The function that is asked, and which of its parameters tells what. */
const ASKED = "rawguard_ask";
const QUESTION = 4;

/** By what short name the module exports a function. */
async function exportedAs(name: string): Promise<string> {
  const names = await readFile(new URL("../../js/generated/page/names.json", import.meta.url), "utf8");
  const { exports } = JSON.parse(names) as { exports: readonly (readonly [name: string, short: string])[] };
  const found = exports.find(([long]) => long === name);
  if (found === undefined) throw new Error(`the module exports no ${name}`);
  return found[1];
}

export async function trappingWasm(): Promise<Uint8Array<ArrayBuffer>> {
  const module = binaryen.readBinary(await readFile(new URL("../../dist/seenguard.wasm", import.meta.url)));
  const { ReferenceTypes, BulkMemory, BulkMemoryOpt, SignExt, NontrappingFPToInt, Multivalue, MutableGlobals } =
    binaryen.Features;
  module.setFeatures(
    ReferenceTypes | BulkMemory | BulkMemoryOpt | SignExt | NontrappingFPToInt | Multivalue | MutableGlobals,
  );
  try {
    const exported = await exportedAs(ASKED);
    const { value: name } = binaryen.getExportInfo(module.getExport(exported));
    const { params, results } = binaryen.getFunctionInfo(module.getFunction(name));
    const parameters = binaryen.expandType(params).map((type, index) => module.local.get(index, type));
    const isTrapping = module.i32.eq(module.local.get(QUESTION, binaryen.i32), module.i32.const(EXPLAIN));
    const answer = module.call(name, parameters, results);
    const body = module.block(null, [module.if(isTrapping, module.unreachable()), answer], results);
    module.addFunction("trapping", params, results, [], body);
    module.removeExport(exported);
    module.addFunctionExport("trapping", exported);
    if (module.validate() !== 1) throw new Error("the trapping module is not valid");
    return Uint8Array.from(module.emitBinary());
  } finally {
    module.dispose();
  }
}
