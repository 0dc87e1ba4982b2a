/** The text as which the Wasm module is inlined: what scripts/build writes, the package reads. */
import { describe, expect, test } from "vitest";
import { bytesOfText } from "../../js/wasm-text.js";
import { textOfBytes } from "../../scripts/build/wasm-text.mjs";

const everyByte = Uint8Array.from({ length: 256 }, (_, byte) => byte);

describe("the module's text", () => {
  test("gives back every byte after every other", () => {
    const pairs = Uint8Array.from(
      [...everyByte].flatMap((first) => [...everyByte].flatMap((second) => [first, second])),
    );
    expect(bytesOfText(textOfBytes(pairs))).toEqual(pairs);
  });

  test("is printable ASCII without quotation marks", () => {
    expect(textOfBytes(everyByte)).toMatch(/^[ !#-~]+$/);
  });

  test("of no bytes is empty", () => {
    expect(bytesOfText(textOfBytes(new Uint8Array()))).toEqual(new Uint8Array());
  });
});
