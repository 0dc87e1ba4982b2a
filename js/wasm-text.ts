/**
 * The Wasm module inlined in a script: as printable ASCII, which every bundler and every charset leaves as it is, and which hides less of the
 * bytes' structure from compressors than base64 and hexadecimal digits do.
 *
 * A byte below 92 is one character, the one 35 codes after it; most bytes of a module are. Of another byte the quotient by 92 is a character before
 * it, a space for 1 and an exclamation mark for 2, and the remainder is the character. scripts/build/wasm-text.mjs writes such a text.
 */
import { unpacker } from "./generated/unpacker.js";

const PAGE_BYTES_LOG2 = 16;

/** Compiles the module that a text holds. */
export async function compileText(text: string): Promise<WebAssembly.Module> {
  return WebAssembly.compile(bytesOfText(text));
}

/** The bytes that a text holds. */
export function bytesOfText(text: string): Uint8Array<ArrayBuffer> {
  const { memory, unpack } = new WebAssembly.Instance(new WebAssembly.Module(unpacker)).exports as {
    memory: WebAssembly.Memory;
    unpack: (length: number) => number;
  };
  memory.grow(text.length >> PAGE_BYTES_LOG2);
  const bytes = new Uint8Array(memory.buffer);
  new TextEncoder().encodeInto(text, bytes);
  return bytes.subarray(0, unpack(text.length));
}
