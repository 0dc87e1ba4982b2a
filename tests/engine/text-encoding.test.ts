/** Texts as UTF-8 where the platform has no encoders, as in Hermes, compared with those that it has here. */
import { expect, test } from "vitest";
import { TextDecoder as Decoder, TextEncoder as Encoder } from "../../js/platform/text-encoding-polyfill.js";
import { Random } from "../support/node.js";

const [native, nativeDecoder] = [new TextEncoder(), new TextDecoder()];

/** The ends of the ranges of one to four bytes, halves of pairs, and what is around them. */
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

test("an encoder stops before a character that does not fit, and returns how far it came", () => {
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

test("a decoder reads the same texts", () => {
  const decoder = new Decoder();
  for (const text of texts) {
    const bytes = native.encode(text);
    expect(decoder.decode(bytes)).toBe(nativeDecoder.decode(bytes));
  }
});
