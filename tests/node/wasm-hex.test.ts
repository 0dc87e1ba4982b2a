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

test.each(["client-wasm.js", "client-wasm.cjs"])("%s has the module in it that is shipped", async (file) => {
  const { default: text } = (await import(`../../dist/${file}`)) as { default: string | { default: string } };
  const shipped = readFileSync(new URL("../../dist/seenguard.wasm", import.meta.url));
  expect(typeof text === "string" ? text : text.default).toBe(shipped.toString("hex"));
});
