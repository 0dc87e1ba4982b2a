/** The Wasm module as the entries inline it. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { bytesOf } from "../../js/engine/wasm-text.js";
import { textOf } from "../../scripts/build/wasm-text.mjs";

type Wasm = string | Uint8Array<ArrayBuffer>;

const everyByte = Uint8Array.from({ length: 256 }, (_, byte) => byte);

test.each([
  ["every byte", everyByte],
  ["a byte", Uint8Array.of(255)],
  ["nothing", new Uint8Array()],
  [
    "a byte that is much more frequent than the others",
    Uint8Array.from([...everyByte, ...Array<number>(999).fill(60)]),
  ],
])("the text of %s gives it back, and needs no escaping in any quotes or in HTML", (_, bytes) => {
  const text = textOf(bytes);
  expect(text).toMatch(/^[!#%&(-;=-[\]-_a-~]*$/);
  expect(bytesOf(text)).toEqual(bytes);
});

test.each(["client-wasm.js", "client-wasm.cjs"])("%s has the module in it that is shipped", async (file) => {
  const { default: exported } = (await import(`../../dist/${file}`)) as { default: Wasm | { default: Wasm } };
  const wasm = typeof exported === "object" && "default" in exported ? exported.default : exported;
  const shipped = readFileSync(new URL("../../dist/seenguard.wasm", import.meta.url));
  expect(Buffer.from(bytesOf(wasm)).equals(shipped)).toBe(true);
});
