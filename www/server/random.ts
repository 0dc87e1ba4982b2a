/** Seeded pseudorandom choices. */

/** Numbers from 0 to below 1. */
export type Random = () => number;

/** mulberry32. */
export function randomOf(seed: number): Random {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Seeded by the string's FNV-1a hash. */
export function randomOfText(seed: string): Random {
  let hash = 0x811c9dc5;
  for (let at = 0; at < seed.length; at++) hash = Math.imul(hash ^ seed.charCodeAt(at), 0x01000193);
  return randomOf(hash);
}

/** A copy in an order drawn from `random` (Fisher and Yates). */
export function shuffled<T>(items: readonly T[], random: Random): T[] {
  const order = [...items];
  for (let last = order.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1));
    const moved = order[last] as T;
    order[last] = order[other] as T;
    order[other] = moved;
  }
  return order;
}
