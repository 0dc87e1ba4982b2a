/** Generations: each clear begins one, and what belongs to older ones is void. */
import { isQuotaError } from "./health.js";
import type { KeyValueStore } from "./key-value-store.js";
import { GENERATION, heldKeysIn, segmentsIn } from "./keys.js";

export interface Generation {
  readonly number: number;
  /** When it was begun, Unix ms: what was recorded before is forgotten. 0: never cleared. */
  readonly clearedAtMs: number;
  /** What the storage holds under the generation's key. */
  readonly text: string | undefined;
}

export const FIRST_GENERATION: Generation = { number: 0, clearedAtMs: 0, text: undefined };

/** Numbers in storage that are larger are damage. */
const MAX_NUMBER = 2 ** 51;
/** How often a clear that finds others clearing tries again. */
const ATTEMPTS = 8;

/** Reads a generation; what cannot be read is the first. */
function parse(text: string | undefined): Generation {
  const [number = 0, clearedAtMs = 0] = (text ?? "").split("/").map(Number);
  const isRight = (value: number) => Number.isSafeInteger(value) && value >= 0 && value <= MAX_NUMBER;
  return { number: isRight(number) ? number : 0, clearedAtMs: isRight(clearedAtMs) ? clearedAtMs : 0, text };
}

/**
 * The generation that is noted. `keys`: a listing made before, by which a namespace that was never cleared saves the
 * reading, and one whose note was lost still knows which segments are the last.
 */
export async function readGeneration(
  store: KeyValueStore,
  prefix: string,
  keys: readonly string[],
): Promise<Generation> {
  const key = prefix + GENERATION;
  const noted = parse(keys.includes(key) ? (await store.read([key]))[0] : undefined);
  const numbers = segmentsIn(prefix, keys).map(({ generation }) => generation);
  const number = numbers.filter((one) => one <= MAX_NUMBER).reduce((a, b) => Math.max(a, b), noted.number);
  return number > noted.number ? { ...noted, number } : noted;
}

/**
 * Begins a new generation, and removes what earlier ones left. The number is the time of the clear unless the last one
 * is higher, so that of two clears at once the later has the higher number. The time is never before the last one's:
 * who learns of this generation alone learns of all clears before.
 */
export async function clearNamespace(
  store: KeyValueStore,
  prefix: string,
  clearedAtMs: number,
  known = FIRST_GENERATION,
): Promise<Generation> {
  const key = prefix + GENERATION;
  for (let attempt = 1; ; attempt++) {
    const last = await readGeneration(store, prefix, await store.keys(prefix));
    const number = Math.max(last.number + 1, known.number + 1, clearedAtMs);
    const latestMs = Math.max(clearedAtMs, last.clearedAtMs, known.clearedAtMs);
    const text = `${number}/${latestMs}`;
    const removeOlder = async (): Promise<void> => {
      const present = await store.keys(prefix);
      const parts = [...segmentsIn(prefix, present), ...heldKeysIn(prefix, present)];
      const newer = parts.filter(({ generation }) => generation >= number).map((part) => part.key);
      const kept = new Set([key, ...newer]);
      await store.remove(present.filter((other) => !kept.has(other)));
    };
    const note = (): Promise<boolean> => store.replace(key, text, last.text);
    // First the new generation: what a late writer still writes is void. On a full storage what goes makes room for it.
    const isNoted = await note().catch(async (cause: unknown) => {
      if (!isQuotaError(cause)) throw cause;
      await removeOlder();
      return note();
    });
    if (isNoted) {
      await removeOlder();
      return { number, clearedAtMs: latestMs, text };
    }
    if (attempt === ATTEMPTS) throw new Error("the generation changes all the time");
  }
}
