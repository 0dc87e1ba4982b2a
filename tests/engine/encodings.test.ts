/** The encoding of the inlined Wasm module, and UTF-8 where the platform has no encoders, as in Hermes. */
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { bytesOf } from "../../js/engine/wasm-text.js";
import { TextDecoder as Decoder, TextEncoder as Encoder } from "../../js/platform/text-encoding-polyfill.js";
import { textOf } from "../../scripts/build/wasm-text.mjs";
import { Random } from "../support/node.js";

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

test.each(["client-wasm.js", "client-wasm.cjs"])("%s contains the module of the package", async (file) => {
  const { default: exported } = (await import(`../../dist/${file}`)) as { default: Wasm | { default: Wasm } };
  const wasm = typeof exported === "object" && "default" in exported ? exported.default : exported;
  const shipped = readFileSync(new URL("../../dist/seenguard.wasm", import.meta.url));
  expect(Buffer.from(bytesOf(wasm)).equals(shipped)).toBe(true);
});

const [native, nativeDecoder] = [new TextEncoder(), new TextDecoder()];

/** The ends of the ranges of one to four bytes, surrogates, and their neighbours. */
const POINTS = [0, 0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xd800, 0xdbff, 0xdc00, 0xdfff, 0xe000, 0xffff, 0x10000, 0x10ffff];
const random = new Random(1);
const texts = [
  ...["", "abc", ...POINTS.map((point) => String.fromCodePoint(point)), String.fromCodePoint(...POINTS)],
  ...Array.from({ length: 500 }, () =>
    Array.from({ length: random.below(20) }, () => String.fromCodePoint(random.pick(POINTS))).join(""),
  ),
  // More than a function takes as arguments.
  "新闻🙂".repeat(100_000),
];

test("an encoder writes the same bytes", () => {
  const encoder = new Encoder();
  for (const text of texts) expect(Buffer.compare(encoder.encode(text), native.encode(text))).toBe(0);
});

test("an encoder stops before a character that does not fit, and returns its progress", () => {
  const encoder = new Encoder();
  for (const text of texts.slice(0, -1)) {
    const length = native.encode(text).length;
    for (let room = 0; room <= length; room++) {
      const [own, expected] = [new Uint8Array(room), new Uint8Array(room)];
      expect(encoder.encodeInto(text, own)).toEqual(native.encodeInto(text, expected));
      expect(Buffer.compare(own, expected)).toBe(0);
    }
  }
});

test("a decoder reads the same strings", () => {
  const decoder = new Decoder();
  for (const text of texts) {
    const bytes = native.encode(text);
    expect(decoder.decode(bytes)).toBe(nativeDecoder.decode(bytes));
  }
});
