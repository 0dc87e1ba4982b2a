/**
 * Decodes the inlined Wasm module: a printable string with one character for each of the frequent bytes and two for the
 * others, which brotli compresses nearly as well as the bytes. `scripts/build/wasm-text.mjs` writes it.
 */
import { createEncoder } from "../platform/text-encoding.js";

/** The highest code of a character that is the first of two. */
const LAST_LEAD = 33;
const BYTES = 256;
/** The number of codes of a character: it is ASCII. */
const CODES = 128;

/**
 * The bytes of an encoded module, which begins with the codes of all bytes in order, the table. A module that is bytes
 * already is returned unchanged.
 */
export function bytesOf(wasm: string | Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  if (typeof wasm !== "string") return wasm;
  // This runs once, mostly before it is compiled: plain loops over typed arrays take the least time.
  const codes = createEncoder().encode(wasm);
  const { length } = codes;
  const table = new Uint8Array(CODES * (LAST_LEAD + 1));
  let from = 0;
  for (let byte = 0; byte < BYTES; byte++, from++) {
    const code = codes[from] ?? 0;
    table[code <= LAST_LEAD ? CODES * code + (codes[++from] ?? 0) : code] = byte;
  }
  // A code takes at least one character, so the bytes can overwrite the string's.
  let count = 0;
  for (; from < length; from++) {
    const code = codes[from] ?? 0;
    codes[count++] = table[code <= LAST_LEAD ? CODES * code + (codes[++from] ?? 0) : code] ?? 0;
  }
  return codes.subarray(0, count);
}
