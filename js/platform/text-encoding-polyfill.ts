/** `TextEncoder` and `TextDecoder` for platforms that have none, such as Hermes and Jest's jsdom. */
import type { Decoder, Encoder } from "./text-encoding.js";

const REPLACEMENT = 0xfffd;
/** A number of arguments that every engine accepts. */
const MAX_ARGUMENTS = 8_192;
/** UTF-8 takes at most three bytes for a UTF-16 unit. */
const BYTES_PER_UNIT = 3;

export class TextEncoder implements Encoder {
  encode(text = ""): Uint8Array<ArrayBuffer> {
    const bytes = new Uint8Array(BYTES_PER_UNIT * text.length);
    return bytes.slice(0, this.encodeInto(text, bytes).written);
  }

  encodeInto(text: string, bytes: Uint8Array): { read: number; written: number } {
    let [read, written] = [0, 0];
    while (read < text.length) {
      const unit = text.charCodeAt(read);
      if (unit < 0x80) {
        // As most characters of ids are.
        if (written === bytes.length) break;
        bytes[written++] = unit;
        read++;
        continue;
      }
      const point = text.codePointAt(read) ?? REPLACEMENT;
      const length = utf8LengthOf(point);
      if (written + length > bytes.length) break;
      // Half a surrogate pair has no UTF-8.
      writeCodePoint(bytes, written, length, point >> 11 === 0x1b ? REPLACEMENT : point);
      written += length;
      read += length > BYTES_PER_UNIT ? 2 : 1;
    }
    return { read, written };
  }
}

/** How many bytes a code point takes that is not ASCII. */
function utf8LengthOf(point: number): number {
  if (point < 0x800) return 2;
  return point < 0x10000 ? 3 : 4;
}

/** Writes a code point of two bytes or more. */
function writeCodePoint(bytes: Uint8Array, start: number, length: number, point: number): void {
  let rest = point;
  for (let index = start + length - 1; index > start; index--) {
    bytes[index] = 0x80 | (rest & 0x3f);
    rest >>= 6;
  }
  // As many leading ones as there are bytes.
  bytes[start] = ((0xf00 >> length) & 0xff) | rest;
}

export class TextDecoder implements Decoder {
  /** Decodes a string of Rust, which is valid UTF-8. */
  decode(bytes = new Uint8Array()): string {
    let text = "";
    let points: number[] = [];
    for (let index = 0; index < bytes.length;) {
      const first = bytes[index++] ?? 0;
      const following = first < 0xc0 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
      let point = following === 0 ? first : first & (0x3f >> following);
      for (let count = 0; count < following; count++) point = (point << 6) | ((bytes[index++] ?? 0) & 0x3f);
      points.push(point);
      if (points.length < MAX_ARGUMENTS && index < bytes.length) continue;
      text += String.fromCodePoint(...points);
      points = [];
    }
    return text;
  }
}
