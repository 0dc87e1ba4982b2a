/** Encodes a Wasm module as a string, which `js/engine/wasm-text.ts` decodes. */

/** The first characters of two-character codes, which sort below all others. */
const LEADS = "!#";
const isPrintable = (/** @type {number} */ code) => code > LEADS.charCodeAt(1) && code < 127;
/** Characters that would need escaping in quotes or in an HTML script. */
const isSpecial = (/** @type {number} */ code) => "\"'`$\\<".includes(String.fromCharCode(code));
const characters = Array.from({ length: 128 }, (_, code) => code).filter(
  (code) => isPrintable(code) && !isSpecial(code),
);

/**
 * Encodes frequent bytes as one character: the byte's own if possible, so that brotli can match the module's names.
 * @param {Uint8Array} bytes
 */
export function textOf(bytes) {
  const counts = new Array(256).fill(0);
  for (const byte of bytes) counts[byte]++;
  const byFrequency = [...counts.keys()].sort((one, other) => counts[other] - counts[one] || one - other);
  const frequent = byFrequency.slice(0, characters.length).sort((one, other) => one - other);
  const rest = byFrequency.slice(characters.length).sort((one, other) => one - other);
  const unchanged = new Set(frequent.filter((byte) => characters.includes(byte)));
  const free = characters.filter((code) => !unchanged.has(code));
  /** @type {string[]} */
  const texts = [];
  for (const byte of frequent) texts[byte] = String.fromCharCode(unchanged.has(byte) ? byte : (free.shift() ?? 0));
  for (const [index, byte] of rest.entries()) {
    const lead = LEADS[Math.floor(index / characters.length)] ?? "";
    texts[byte] = lead + String.fromCharCode(characters[index % characters.length] ?? 0);
  }
  return texts.join("") + Array.from(bytes, (byte) => texts[byte]).join("");
}
