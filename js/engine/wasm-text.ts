/**
 * The encoding of the inlined Wasm module: printable text, one character for each of the frequent bytes and two for the
 * others, which brotli compresses nearly as well as the bytes. `scripts/build/wasm-text.mjs` writes it.
 */
import { createEncoder } from "../platform/text-encoding.js";

/** Up to here a character is the first of two. */
const LAST_LEAD = 33;
const BYTES = 256;
/** The codes of a character: it is ASCII. */
const CODES = 128;

/** The bytes of such a text, which begins with every byte in order: the table. A module from a file is returned unchanged. */
export function bytesOf(wasm: string | Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  if (typeof wasm !== "string") return wasm;
  // This runs once, mostly before it is compiled: one plain loop over typed arrays takes the least time.
  const codes = createEncoder().encode(wasm);
  const table = new Uint8Array(CODES * (LAST_LEAD + 1));
  let count = 0;
  for (let from = 0; from < codes.length; from++) {
    let code = codes[from] ?? 0;
    if (code <= LAST_LEAD) code = CODES * code + (codes[++from] ?? 0);
    if (count < BYTES) table[code] = count;
    // A code takes at least one character, so the bytes can take the place of the text.
    codes[count++] = table[code] ?? 0;
  }
  return codes.subarray(BYTES, count);
}
