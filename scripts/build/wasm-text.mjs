/** The Wasm module as text, as `js/engine/wasm-text.ts` reads it. */

/** The first characters of two, below all others. */
const LEADS = "!#";
const isPrintable = (/** @type {number} */ code) => code > LEADS.charCodeAt(1) && code < 127;
/** What quotes, ends a script in HTML, or is written otherwise within quotes. */
const isSpecial = (/** @type {number} */ code) => "\"'`$\\<".includes(String.fromCharCode(code));
const characters = Array.from({ length: 128 }, (_, code) => code).filter(
  (code) => isPrintable(code) && !isSpecial(code),
);

/**
 * Gives each of the frequent bytes a character, the byte's if that is one of those; brotli finds the module's names then.
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
