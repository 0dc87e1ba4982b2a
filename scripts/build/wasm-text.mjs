/** Encodes a Wasm module as a string, which `js/engine/wasm-text.ts` decodes. */

/** The first characters of two-character codes, which sort below all others. */
const LEADS = " !";
/** Characters that would need escaping in quotes or in an HTML script. */
const SPECIAL = "\"'`$\\<";
const PRINTABLE = Array.from({ length: 127 }, (_, code) => String.fromCharCode(code)).slice(LEADS.charCodeAt(1) + 1);
const CHARACTERS = PRINTABLE.filter((character) => !SPECIAL.includes(character));

/**
 * Brotli predicts a character from the class of the one before (RFC 7932, 7.1). So the opcodes that have the same kind
 * of operand are in one class. Letters stay themselves, so that brotli can match the module's names with the glue's.
 * @type {readonly (readonly [characters: string, isIn: (byte: number) => boolean])[]}
 */
const CLASSES = [
  ["_abcdefghijklmnopqrstuvwxyz", (byte) => /[_a-z]/.test(String.fromCharCode(byte))],
  // local.get, local.set, local.tee
  ["([{", (byte) => byte >= 0x20 && byte <= 0x22],
  // Loads and stores of 32 and 64 bits.
  [")]}>", (byte) => [0x28, 0x29, 0x36, 0x37].includes(byte)],
  // i32.const, and the ends of its operand if it is negative.
  [",:;", (byte) => [0x41, 0xc0, 0xff].includes(byte)],
  // i64.const
  ["%", (byte) => byte === 0x42],
  // br_if
  [".", (byte) => byte === 0x0d],
  // The beginning of a round number.
  ["=", (byte) => byte === 0x80],
  // Comparisons of integers.
  ["0123456789", (byte) => byte >= 0x45 && byte <= 0x5a],
  // Small numbers, as of locals.
  ["ABCDEFGHIJKLMNOPQRSTUVWXYZ", (byte) => byte < 0x20],
  [PRINTABLE.join(""), () => true],
];

/**
 * Encodes frequent bytes as one character.
 * @param {Uint8Array} bytes
 */
export function textOf(bytes) {
  const counts = new Array(256).fill(0);
  for (const byte of bytes) counts[byte]++;
  const byFrequency = [...counts.keys()].sort((one, other) => counts[other] - counts[one] || one - other);
  const frequent = byFrequency.slice(0, CHARACTERS.length);
  const rest = byFrequency.slice(CHARACTERS.length).sort((one, other) => one - other);
  /** @type {string[]} */
  const texts = [];
  const free = new Set(CHARACTERS);
  for (const [characters, isIn] of CLASSES) {
    for (const byte of frequent.filter((each) => texts[each] === undefined && isIn(each))) {
      const own = String.fromCharCode(byte);
      const inClass = [...free].filter((character) => characters.includes(character));
      const character = inClass.includes(own) ? own : inClass[0];
      if (character === undefined) break;
      free.delete(character);
      texts[byte] = character;
    }
  }
  for (const [index, byte] of rest.entries()) {
    const lead = LEADS[Math.floor(index / CHARACTERS.length)] ?? "";
    texts[byte] = lead + (CHARACTERS[index % CHARACTERS.length] ?? "");
  }
  return texts.join("") + Array.from(bytes, (byte) => texts[byte]).join("");
}
