/** The Wasm module as the entries inline it. */
import { readFileSync } from "node:fs";
import { afterEach, expect, test, vi } from "vitest";
import { bytesOfHex } from "../../js/engine/wasm-hex.js";

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

test.each(["index.bundle.js", "index.cjs"])("%s has the module in it that is shipped", (entry) => {
  const read = (name: string) => readFileSync(new URL(`../../dist/${name}`, import.meta.url));
  expect(read(entry).includes(read("seenguard.wasm").toString("hex"))).toBe(true);
});
