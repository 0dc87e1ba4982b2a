/**
 * The encoding of the inlined Wasm module: printable text, one character for each of the frequent bytes and two for the
 * others, which brotli compresses nearly as well as the bytes. `scripts/build/wasm-text.mjs` writes it.
 */
import { createEncoder } from "../platform/text-encoding.js";

/** Up to here a character is the first of two. */
const LAST_LEAD = 35;
const BYTES = 256;
/** The codes of a character: it is ASCII. */
const CODES = 128;

/** The bytes of such a text, which begins with every byte in order: the table. A module from a file is returned unchanged. */
export function bytesOf(wasm: string | Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  if (typeof wasm !== "string") return wasm;
  // This runs once, mostly before it is compiled: plain loops over typed arrays take the least time.
  const codes = createEncoder().encode(wasm);
  const { length } = codes;
  const table = new Uint8Array(CODES * (LAST_LEAD + 1));
  let from = 0;
  for (let byte = 0; byte < BYTES; byte++, from++) {
    const code = codes[from] as number;
    table[code <= LAST_LEAD ? CODES * code + (codes[++from] as number) : code] = byte;
  }
  // A code takes at least one character, so the bytes can take the place of the text.
  let count = 0;
  for (; from < length; from++) {
    const code = codes[from] as number;
    codes[count++] = table[code <= LAST_LEAD ? CODES * code + (codes[++from] as number) : code] as number;
  }
  return codes.subarray(0, count);
}
