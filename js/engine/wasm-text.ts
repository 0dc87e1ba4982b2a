/**
 * The encoding of the inlined Wasm module: printable text, one character for each of the frequent bytes and two for the
 * others, which brotli compresses nearly as well as the bytes. `scripts/build/wasm-text.mjs` writes it.
 */

/** Up to here a character is the first of two. */
const LAST_LEAD = 35;
const BYTES = 256;

/** The bytes of such a text, which begins with every byte in order: the table. What a file has is given as it is. */
export function bytesOf(wasm: string | Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  if (typeof wasm !== "string") return wasm;
  const bytes = new Uint8Array(wasm.length);
  const table: number[] = [];
  let [count, lead] = [-BYTES, 0];
  for (let index = 0; index < wasm.length; index++) {
    const code = wasm.charCodeAt(index);
    if (code <= LAST_LEAD) lead = 128 * code;
    else {
      if (count < 0) table[lead + code] = count + BYTES;
      else bytes[count] = table[lead + code] ?? 0;
      count++;
      lead = 0;
    }
  }
  return bytes.subarray(0, count);
}
