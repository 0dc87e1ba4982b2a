/** The package's own Wasm module with one function that traps when it is called. */
import { readFile } from "node:fs/promises";
import binaryen from "binaryen";

/** The function behind `explain`. */
const TRAPPING = "rawguard_explain";

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
    const { value: name } = binaryen.getExportInfo(module.getExport(await exportedAs(TRAPPING)));
    const { params, results } = binaryen.getFunctionInfo(module.getFunction(name));
    module.removeFunction(name);
    module.addFunction(name, params, results, [], module.unreachable());
    if (module.validate() !== 1) throw new Error("the trapping module is not valid");
    return Uint8Array.from(module.emitBinary());
  } finally {
    module.dispose();
  }
}
