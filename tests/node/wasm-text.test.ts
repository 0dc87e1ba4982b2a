/** The text as which the Wasm module is inlined: what scripts/build writes, the package reads. */
import { readFileSync } from "node:fs";
import binaryen from "binaryen";
import { describe, expect, test } from "vitest";
import { wasmText } from "../../js/generated/page/wasm-text.js";
import { bytesOfText } from "../../js/wasm-text.js";
import { partsOf, withoutAlignments } from "../../scripts/build/wasm-code.mjs";
import { textOfModule } from "../../scripts/build/wasm-text.mjs";

const built = (name: string) => readFileSync(new URL(`../../dist/${name}`, import.meta.url));

/** Each form that an instruction can have, numbers of one byte and of several, locals beyond those that have ranks, and long data. */
const assembled = assemble(`
  (module
    (type $unary (func (param i32) (result i32)))
    (memory (export "memory") 2)
    (table $functions 2 funcref)
    (elem (i32.const 0) $locals $numbers)
    (data (i32.const 8) "${"seen".repeat(200)}")
    (data $passive "unseen")
    (global $count (export "count") (mut i32) (i32.const 0))
    (func $locals (export "locals") (param i32) (result i32)
      ${"(local i32) (local i64)".repeat(70)}
      (local.set 139 (local.get 0))
      (local.set 1 (local.tee 127 (i32.add (local.get 0) (local.get 139))))
      (global.set $count (i32.add (global.get $count) (local.get 1)))
      (i32.sub (local.get 127) (local.get 139)))
    (func $numbers (export "numbers") (param i32) (result i32)
      (local i64 f64 f32 funcref)
      (local.set 1 (i64.const -9007199254740993))
      (local.set 2 (f64.const 3.141592653589793))
      (local.set 3 (f32.const 0.5))
      (local.set 4 (ref.null func))
      (local.set 4 (select (result funcref) (ref.func $locals) (local.get 4) (local.get 0)))
      (table.set $functions (i32.const 1) (table.get $functions (i32.const 0)))
      (i64.store offset=70000 align=1 (local.get 0) (local.get 1))
      (f64.store offset=8 (local.get 0) (local.get 2))
      (memory.copy (i32.const 16) (local.get 0) (i32.const 300))
      (memory.fill (i32.const 900) (i32.const 7) (i32.const 1))
      (memory.init $passive (i32.const 1000) (i32.const 0) (i32.const 6))
      (data.drop $passive)
      (drop (memory.grow (i32.sub (memory.size) (memory.size))))
      (i32.add (i32.load offset=1000 align=2 (local.get 0)) (i32.trunc_sat_f64_s (f64.mul (local.get 2) (f64.const 1e6)))))
    (func (export "labels") (param i32) (result i32)
      (block $two (block $one (block $zero
        (br_table $zero $one $two (local.get 0)))
        (return (call_indirect $functions (type $unary) (i32.const 12) (i32.const 0))))
        (return (call $locals (i32.const 1000000))))
      (loop $again (result i32)
        (br_if $again (i32.lt_u (local.tee 0 (i32.add (local.get 0) (i32.const 1))) (i32.const 500)))
        (if (result i32) (i32.eqz (local.get 0)) (then (unreachable)) (else (nop) (local.get 0))))))
`);
const everyForm = withoutAlignments(assembled);

/** Equal for modules that differ in how their sizes are written alone, which the text does not tell. */
const plainSizes = (wasm: Uint8Array) => {
  const module = binaryen.readBinary(wasm);
  const bytes = Uint8Array.from(module.emitBinary());
  module.dispose();
  return bytes;
};

/** What a text of this module gives back. */
const throughText = (wasm: Uint8Array) => plainSizes(bytesOfText(textOfModule(wasm)));

describe("the module's text", () => {
  test("gives back instructions of every form", () => {
    expect(throughText(everyForm)).toEqual(plainSizes(everyForm));
  });

  test.each(["seenguard.wasm", "formats.wasm", "inspect.wasm"])("gives back %s", (name) => {
    const wasm = Uint8Array.from(built(name));
    expect(throughText(wasm)).toEqual(plainSizes(wasm));
  });

  test("that is inlined is of the module that is shipped", () => {
    expect(plainSizes(bytesOfText(wasmText))).toEqual(plainSizes(built("seenguard.wasm")));
  });

  test("is printable ASCII", () => {
    expect(textOfModule(everyForm)).toMatch(/^[ -~]+$/);
  });

  test("of a module without code gives it back", () => {
    const empty = assemble("(module)");
    expect(bytesOfText(textOfModule(empty))).toEqual(empty);
  });

  test("is refused where an instruction is unknown, which is named", () => {
    const vector = assemble("(module (func (result v128) (v128.const i32x4 1 2 3 4)))");
    expect(() => textOfModule(vector)).toThrow("opcode 0xfd");
  });

  test("is refused where the module is cut off", () => {
    expect(() => [...partsOf(everyForm.subarray(0, -20))]).toThrow("damaged");
  });
});

describe("a module without alignments", () => {
  test("does what it did", () => {
    const answers = [assembled, everyForm].map((wasm) => {
      const { exports } = new WebAssembly.Instance(new WebAssembly.Module(wasm));
      const call = (name: string, argument: number) => (exports[name] as (argument: number) => number)(argument);
      return [call("numbers", 0), call("locals", 21), call("labels", 0), call("labels", 1), call("labels", 2)];
    });
    expect(answers[1]).toEqual(answers[0]);
  });

  test("has the smallest where others were, and is the same everywhere else", () => {
    const changed = [...assembled.keys()].filter((at) => assembled[at] !== everyForm[at]);
    const [f64Store, i32Load] = [0x39, 0x28];
    expect(changed.map((at) => [assembled[at - 1], assembled[at], everyForm[at]])).toEqual([
      [f64Store, 3, 0],
      [i32Load, 1, 0],
    ]);
  });
});

/** The binary form of a module in Wasm's text format. */
function assemble(text: string): Uint8Array<ArrayBuffer> {
  const module = binaryen.parseText(text);
  const { ReferenceTypes, BulkMemory, NontrappingFPToInt, SIMD128 } = binaryen.Features;
  module.setFeatures(ReferenceTypes | BulkMemory | NontrappingFPToInt | SIMD128);
  const bytes = Uint8Array.from(module.emitBinary());
  module.dispose();
  return bytes;
}
