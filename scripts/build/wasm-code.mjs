/**
 * Wasm modules, instruction by instruction: as much of the binary format (https://webassembly.github.io/spec/core/binary/) as it takes to tell an
 * opcode from what stands after it.
 */

/**
 * What stands after an opcode, of the instructions with one number there, or with an alignment and an offset: the kinds of numbers that repeat in
 * ways of their own.
 * @typedef {"get" | "set" | "load" | "store" | "i32" | "i64" | "call" | "branch" | "block" | "global"} Kind
 */

/**
 * An opcode with the bytes of its number or offset.
 * @typedef {{ opcode: number, kind: Kind | undefined, number: Uint8Array, alignmentAt: number | undefined }} Instruction
 */

/**
 * An instruction; the size of the section with the code, which its number and this begin; the bytes that tell a function's locals, before which stands
 * its size; or bytes as they are: instructions of all other forms, and all that is not code.
 * @typedef {Instruction | { codeBytes: number } | { locals: Uint8Array, sizeBytes: number } | { verbatim: Uint8Array }} Part
 */

/** @type {readonly (readonly [first: number, last: number, kind: Kind | undefined])[]} */
const forms = [
  [0x00, 0x01, undefined],
  [0x02, 0x04, "block"],
  [0x05, 0x05, undefined],
  [0x0b, 0x0b, undefined],
  [0x0c, 0x0d, "branch"],
  [0x0f, 0x0f, undefined],
  [0x10, 0x10, "call"],
  [0x1a, 0x1b, undefined],
  [0x20, 0x20, "get"],
  [0x21, 0x22, "set"],
  [0x23, 0x24, "global"],
  [0x28, 0x35, "load"],
  [0x36, 0x3e, "store"],
  [0x41, 0x41, "i32"],
  [0x42, 0x42, "i64"],
  [0x45, 0xc4, undefined],
  [0xd1, 0xd1, undefined],
];

const MAGIC_AND_VERSION_BYTES = 8;
export const CODE_SECTION = 10;

/**
 * What stands after this opcode; undefined if nothing does, or something of another form.
 * @param {number} opcode
 */
export const kindOf = (opcode) => formOf(opcode)?.[2];

/** @param {number} opcode */
const formOf = (opcode) => forms.find(([first, last]) => first <= opcode && opcode <= last);

/**
 * The module's parts, in order: one after the other, with sizes before functions and alignments before offsets, they are the module.
 * @param {Uint8Array} wasm
 * @returns {Generator<Part>}
 */
export function* partsOf(wasm) {
  const reader = new Reader(wasm);
  reader.skip(MAGIC_AND_VERSION_BYTES);
  yield reader.taken();
  while (!reader.isAt(wasm.length)) {
    const id = reader.byte();
    const bytes = reader.number();
    if (id !== CODE_SECTION) {
      reader.skip(bytes);
      yield reader.taken();
      continue;
    }
    reader.taken();
    yield { codeBytes: bytes };
    const functions = reader.number();
    yield reader.taken();
    for (let index = 0; index < functions; index++) yield* functionParts(reader);
  }
}

/**
 * @param {Reader} reader
 * @returns {Generator<Part>}
 */
function* functionParts(reader) {
  const size = reader.number();
  const sizeBytes = reader.taken().verbatim.length;
  const end = reader.at + size;
  for (let groups = reader.number(); groups > 0; groups--) {
    reader.number();
    reader.byte(); // the type of so many locals
  }
  yield { locals: reader.taken().verbatim, sizeBytes };
  while (!reader.isAt(end)) yield instruction(reader);
}

/**
 * @param {Reader} reader
 * @returns {Part}
 */
function instruction(reader) {
  const opcode = reader.byte();
  const form = formOf(opcode);
  if (!form) {
    skipOtherForm(reader, opcode);
    return reader.taken();
  }
  const kind = form[2];
  const alignmentAt = kind === "load" || kind === "store" ? reader.at : undefined;
  if (alignmentAt !== undefined) reader.number();
  const numberAt = reader.at;
  if (kind) reader.number();
  reader.taken();
  return { opcode, kind, number: reader.since(numberAt), alignmentAt };
}

/**
 * @param {Reader} reader
 * @param {number} opcode
 */
function skipOtherForm(reader, opcode) {
  const [F32_CONST, F64_CONST] = [0x43, 0x44];
  if (opcode === F32_CONST) reader.skip(4);
  else if (opcode === F64_CONST) reader.skip(8);
  else for (let left = operandsOf(reader, opcode); left > 0; left--) reader.number();
}

/** How many numbers stand after the number of an instruction on whole memories and tables, or of a conversion that saturates. */
const bulkOperands = [0, 0, 0, 0, 0, 0, 0, 0, 2, 1, 2, 1, 2, 1, 2, 1, 1, 1];

/**
 * How many numbers stand here after an opcode.
 * @param {Reader} reader
 * @param {number} opcode
 */
function operandsOf(reader, opcode) {
  switch (opcode) {
    case 0x0e: // br_table: its labels, and the default one
      return reader.number() + 1;
    case 0x11: // call_indirect
      return 2;
    case 0x1c: // select, with types
      return reader.number();
    case 0x25: // table.get
    case 0x26: // table.set
    case 0x3f: // memory.size
    case 0x40: // memory.grow
    case 0xd0: // ref.null
    case 0xd2: // ref.func
      return 1;
    case 0xfc: {
      const operands = bulkOperands[reader.number()];
      if (operands !== undefined) return operands;
    }
  }
  const place = `opcode 0x${opcode.toString(16)} before byte ${String(reader.at)}`;
  throw new Error(`the Wasm module has an instruction that is unknown here: ${place}`);
}

/**
 * The same module with the smallest alignment at each load and store. It is a hint, on which no meaning depends, and the engines that the package
 * runs in do not read it; but which of them stands where has to be loaded.
 * @param {Uint8Array} wasm
 */
export function withoutAlignments(wasm) {
  const copy = Uint8Array.from(wasm);
  for (const part of partsOf(wasm)) {
    if ("opcode" in part && part.alignmentAt !== undefined) copy[part.alignmentAt] = 0;
  }
  return copy;
}

/**
 * A number in LEB128.
 * @param {number} number
 */
export function bytesOfNumber(number) {
  const bytes = [];
  for (; number >= 128; number = Math.floor(number / 128)) bytes.push((number % 128) + 128);
  return [...bytes, number];
}

class Reader {
  at = 0;
  #takenTo = 0;
  #bytes;

  /** @param {Uint8Array} bytes */
  constructor(bytes) {
    this.#bytes = bytes;
  }

  /** @param {number} end where something ends that must not end in the middle of something else */
  isAt(end) {
    if (this.at > end) throw new Error(`the Wasm module is damaged: what should end at byte ${String(end)} does not`);
    return this.at === end;
  }

  byte() {
    const byte = this.#bytes[this.at];
    if (byte === undefined) throw new Error("the Wasm module is damaged: it ends too early");
    this.at++;
    return byte;
  }

  /** A number in LEB128, as an unsigned one. */
  number() {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.byte();
      value += (byte % 128) * scale;
      if (byte < 128) return value;
    }
  }

  /** @param {number} bytes */
  skip(bytes) {
    this.at += bytes;
  }

  /** @param {number} start */
  since(start) {
    return this.#bytes.subarray(start, this.at);
  }

  /** All that was read since this was asked the last time. */
  taken() {
    const verbatim = this.since(this.#takenTo);
    this.#takenTo = this.at;
    return { verbatim };
  }
}
