/** The Wasm module as the entries have it: hexadecimal text, which brotli compresses nearly as well as the bytes. */

const [CODE_0, CODE_9, CODE_A] = [48, 57, 97];

/** The bytes of hexadecimal text in lower case. */
export function bytesOfHex(hex: string): Uint8Array<ArrayBuffer> {
  const { fromHex } = Uint8Array as { fromHex?: (hex: string) => Uint8Array<ArrayBuffer> };
  if (fromHex) return fromHex.call(Uint8Array, hex);
  const bytes = new Uint8Array(hex.length / 2);
  for (let index = 0; index < bytes.length; index++) {
    bytes[index] = 16 * digitAt(hex, 2 * index) + digitAt(hex, 2 * index + 1);
  }
  return bytes;
}

function digitAt(hex: string, index: number): number {
  const code = hex.charCodeAt(index);
  return code <= CODE_9 ? code - CODE_0 : code - CODE_A + 10;
}
