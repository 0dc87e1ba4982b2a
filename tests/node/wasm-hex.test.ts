/** The Wasm module as the entries inline it. */
import { readFileSync } from "node:fs";
import vm from "node:vm";
import { afterEach, expect, test, vi } from "vitest";
import { bytesOfHex, ownModule } from "../../js/engine/wasm-hex.js";

const { fromHex } = Uint8Array as { fromHex?: unknown };

afterEach(() => {
  if (fromHex === undefined) Reflect.deleteProperty(Uint8Array, "fromHex");
  else Object.assign(Uint8Array, { fromHex });
});

test("hexadecimal text gives back every byte, without the platform's own decoder", () => {
  Reflect.deleteProperty(Uint8Array, "fromHex");
  const bytes = Uint8Array.from({ length: 256 }, (_, byte) => byte);
  expect(bytesOfHex(Buffer.from(bytes).toString("hex"))).toEqual(bytes);
  expect(bytesOfHex("")).toEqual(new Uint8Array());
});

test("the platform's own decoder is used where there is one", () => {
  const decode = vi.fn(() => Uint8Array.of(7));
  Object.assign(Uint8Array, { fromHex: decode });
  expect(bytesOfHex("07")).toEqual(Uint8Array.of(7));
  expect(decode).toHaveBeenCalledExactlyOnceWith("07");
});

test("a module of another realm, as Next's edge runtime has them, is instantiated as one of this realm", () => {
  const module = vm.runInNewContext(
    "new WebAssembly.Module(Uint8Array.of(0, 0x61, 0x73, 0x6d, 1, 0, 0, 0))",
  ) as WebAssembly.Module;
  expect(module).not.toBeInstanceOf(WebAssembly.Module);
  const own = ownModule(module);
  expect(own).toBeInstanceOf(WebAssembly.Module);
  expect(() => new WebAssembly.Instance(own)).not.toThrow();
});

test.each(["index.bundle.js", "index.cjs"])("%s has the module in it that is shipped", (entry) => {
  const read = (name: string) => readFileSync(new URL(`../../dist/${name}`, import.meta.url));
  expect(read(entry).includes(read("seenguard.wasm").toString("hex"))).toBe(true);
});
