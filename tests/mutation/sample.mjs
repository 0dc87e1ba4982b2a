/** Chooses which mutants are tried: always the same ones for the same code, and few others when some code changes. */
import { createHash } from "node:crypto";

const SEED = process.env.SEENGUARD_SEED ?? "1";

/**
 * @template T
 * @param {readonly T[]} mutants
 * @param {number} count
 * @param {(mutant: T) => string} describe without line numbers, which would move the choice with each line above it
 * @returns {T[]}
 */
export function sample(mutants, count, describe) {
  /** @type {Map<string, number>} */
  const occurrences = new Map();
  const ranked = mutants.map((mutant) => {
    const description = describe(mutant);
    const occurrence = occurrences.get(description) ?? 0;
    occurrences.set(description, occurrence + 1);
    return {
      mutant,
      rank: createHash("sha256")
        .update(`${SEED} ${description} ${String(occurrence)}`)
        .digest("hex"),
    };
  });
  ranked.sort((a, b) => (a.rank < b.rank ? -1 : 1));
  return ranked.slice(0, count).map(({ mutant }) => mutant);
}
