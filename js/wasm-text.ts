/**
 * The Wasm module inlined in a script: as printable ASCII, which every bundler and every charset leaves as it is, and sorted, so that compressors find
 * more that repeats than in the module itself. scripts/build/wasm-text.mjs writes it; the module that unpacks it is wasm-text.wat.
 *
 * The text has parts, with quotation marks between them. The first is a table of the opcodes below 92: for each, in which stream the number after it
 * is, if any; or, from 12 on, by how much more than 94 the opcode is that it stands for, one of those that come often. The other parts are the streams:
 * the opcodes; bytes as they are; and the numbers after opcodes, in streams of their own for locals that are read and that are set, offsets of loads and
 * of stores, constants of 32 and of 64 bits, functions, labels, types of blocks, and globals; then characters.
 *
 * Opcodes that Wasm does not have stand for what is no instruction, or one of another form; in the stream of bytes there is how many, then these:
 *
 * - 6: a function begins, the bytes tell its locals. Its size is not there: the unpacker counts.
 * - 7: bytes as they are.
 * - 8: characters as they are, in a stream of their own, which is the last. Compressors know words.
 *
 * A local is told by how many others of its function have been named since it was (move to front). Alignments, which are hints, are 0, and not there.
 *
 * A byte below 92 is one character, the one 35 codes after it; most bytes are. Of another byte the quotient by 92 is a character before it, a space
 * for 1 and an exclamation mark for 2, and the remainder is the character.
 */
import { unpacker } from "./generated/unpacker.js";

const TEXT_AT = 1024;

/** Of the memory for each character: there is room for the text, and for the module after it. */
const PAGES_LOG2 = 14;

/** Compiles the module that a text holds. */
export async function compileText(text: string): Promise<WebAssembly.Module> {
  return WebAssembly.compile(bytesOfText(text));
}

/** The module that a text holds. */
export function bytesOfText(text: string): Uint8Array<ArrayBuffer> {
  const { memory, unpack } = new WebAssembly.Instance(new WebAssembly.Module(unpacker)).exports as {
    memory: WebAssembly.Memory;
    unpack: (end: number) => number;
  };
  memory.grow(text.length >> PAGES_LOG2);
  new TextEncoder().encodeInto(text, new Uint8Array(memory.buffer, TEXT_AT));
  const end = TEXT_AT + text.length;
  return new Uint8Array(memory.buffer).subarray(end, unpack(end));
}
