/** Typical ids of feeds, and lists of candidates: the same for every peer, runtime and run. */

/** A generator of whole numbers below a limit, which depend only on the seed (mulberry32). */
export function randomBelow(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return Math.floor((((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32) * limit);
  };
}

/** N digits in a base; with more than 32 bits the last ones follow from the others. */
const digits = (count: number, base: number, below: (limit: number) => number) =>
  below(base ** count)
    .toString(base)
    .padStart(count, "0");

/** Ids such as `1r8bq8r7q4izgx`: 14 characters, so that no two are equal. */
export function shortIds(count: number, seed: number): string[] {
  const below = randomBelow(seed);
  return Array.from({ length: count }, () => digits(7, 36, below) + digits(7, 36, below));
}

/** Items with these ids, as new strings that no engine has hashed yet. */
export function itemsOf(ids: readonly string[]): { id: string }[] {
  return JSON.parse(JSON.stringify(ids.map((id) => ({ id })))) as { id: string }[];
}

/** `count` candidates in a random order, a quarter of them out of `seen`, the others new. */
export function candidatesOf(seen: readonly string[], count: number, makeIds: typeof shortIds, seed: number): string[] {
  const below = randomBelow(seed);
  const known = new Set<string>();
  while (known.size < Math.floor(count / 4)) known.add(seen[below(seen.length)] ?? "");
  const candidates = [...known, ...makeIds(count - known.size, seed + 1)];
  shuffle(candidates, below);
  return candidates;
}

/** Puts a list into a random order (Fisher and Yates). */
export function shuffle(list: unknown[], below: (limit: number) => number): void {
  for (let last = list.length - 1; last > 0; last--) {
    const other = below(last + 1);
    [list[last], list[other]] = [list[other], list[last]];
  }
}
