/**
 * Another id with the XXH64 of a given one: what somebody makes who may choose the ids of what they publish. XXH64 is
 * not made to resist that (https://github.com/Cyan4973/xxHash/issues/54).
 *
 * Of 16 bytes, XXH64 mixes the first eight into its state and then the second eight, each by a bijection. So for any
 * first half there is one second half that leads to the same hash: it takes one inversion to find, and some 2^16 first
 * halves until the second is a text of the usual letters.
 */
const MASK = (1n << 64n) - 1n;
const [P1, P2, P4, P5] = [0x9e3779b185ebca87n, 0xc2b2ae3d27d4eb4fn, 0x85ebca77c2b2ae63n, 0x27d4eb2f165667c5n];
const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const HALF = 8;

const multiply = (a: bigint, b: bigint) => (a * b) & MASK;
const rotate = (value: bigint, by: bigint) => ((value << by) | (value >> (64n - by))) & MASK;

/** How a half is mixed before it meets the state, and the inverse. */
const mix = (half: bigint) => multiply(rotate(multiply(half, P2), 31n), P1);
const unmix = (mixed: bigint) => multiply(rotate(multiply(mixed, inverseOf(P1)), 33n), inverseOf(P2));

/** The state after the first half. */
const stateAfter = (half: bigint, seed: bigint) => {
  const start = (seed + P5 + BigInt(2 * HALF)) & MASK;
  return (multiply(rotate(start ^ mix(half), 27n), P1) + P4) & MASK;
};

/** Another id of 16 letters, digits, `-` and `_` with the hash of this one, which has 16 ASCII characters. */
export function collidingId(id: string, seed = 0n): string {
  const bytes = Buffer.from(id);
  if (bytes.length !== 2 * HALF) throw new Error(`${id} has not 16 bytes`);
  const target = stateAfter(bytes.readBigUInt64LE(0), seed) ^ mix(bytes.readBigUInt64LE(HALF));
  for (let number = 0; ; number++) {
    const first = Buffer.from(firstHalf(number));
    const second = Buffer.alloc(HALF);
    second.writeBigUInt64LE(unmix(target ^ stateAfter(first.readBigUInt64LE(0), seed)));
    const text = second.toString("latin1");
    if (/^[\w-]+$/.test(text) && `${String(first)}${text}` !== id) return `${String(first)}${text}`;
  }
}

const firstHalf = (number: number) =>
  Array.from({ length: HALF }, (_, place) => ALPHABET[Math.floor(number / 64 ** place) % 64]).join("");

/** Of an odd number modulo 2^64, by Newton's method: each step doubles the number of right bits. */
function inverseOf(odd: bigint): bigint {
  let inverse = odd;
  for (let bits = 3; bits < 64; bits *= 2) inverse = multiply(inverse, 2n - multiply(odd, inverse));
  return inverse;
}
