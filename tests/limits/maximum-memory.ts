/** Limits the memory of a Wasm module. */

const MEMORY_SECTION = 5;

/** The module with a memory that cannot grow beyond N pages of 64 KB. */
export function withMaximumMemory(wasm: Uint8Array, pages: number): Uint8Array<ArrayBuffer> {
  for (let at = 8; at < wasm.length;) {
    const [id = 0] = wasm.subarray(at);
    const [size, start] = leb128(wasm, at + 1);
    if (id === MEMORY_SECTION) {
      const [minimum, end] = leb128(wasm, start + 2);
      const limits = [1, 1, ...leb128Of(minimum), ...leb128Of(Math.max(pages, minimum))];
      if (wasm[start + 1] !== 0 || end !== start + size) throw new Error("the memory has a maximum already");
      const section = [MEMORY_SECTION, limits.length, ...limits];
      return Uint8Array.from(Buffer.concat([wasm.subarray(0, at), Uint8Array.from(section), wasm.subarray(end)]));
    }
    at = start + size;
  }
  throw new Error("the module has no memory of its own");
}

function leb128(bytes: Uint8Array, at: number): [value: number, end: number] {
  for (let value = 0, shift = 0; ; shift += 7) {
    const byte = bytes[at++] ?? 0;
    value |= (byte & 127) << shift;
    if (byte < 128) return [value, at];
  }
}

function leb128Of(value: number): number[] {
  return value < 128 ? [value] : [(value & 127) | 128, ...leb128Of(value >> 7)];
}
