/** Precision and recall of the groups that `NearDuplicates` makes of a pool. */
import { NearDuplicates, simhash } from "seenguard/near-duplicates";
import { randomOf, shuffled } from "../../www/server/random.ts";
import { featuresOf, wordsOf } from "../../examples/near-duplicates/features.ts";
import { partsOf, textOf, type EditRule } from "./edits.ts";

/** How many bits a fingerprint may differ from another one of its group. */
const DISTANCES = [1, 3] as const;

export type Words = readonly string[];

/** Texts and their copies by one rule, as words. */
export interface EditedTexts {
  readonly rule: string;
  readonly originals: readonly Words[];
  readonly copies: readonly Words[];
}

export function edited(texts: readonly string[], rules: readonly EditRule[]): EditedTexts[] {
  const unchanged = texts.map(wordsOf);
  const inParts = texts.map(partsOf);
  return rules.map(({ name, original, edit }) => {
    const random = randomOf(1);
    const originals = original === undefined ? unchanged : inParts.map((parts) => wordsOf(textOf(original(parts))));
    return { rule: name, originals, copies: inParts.map((parts) => wordsOf(textOf(edit(parts, random)))) };
  });
}

/** By distance: the share of copies that come into the group of their original, after all originals have arrived. */
export async function recallOf({ originals, copies }: EditedTexts): Promise<number[]> {
  const fingerprints = [...originals, ...copies].map(fingerprintOf);
  return Promise.all(
    DISTANCES.map(async (distance) => {
      const groups = await groupsOf(fingerprints, distance);
      return shareOf(copies, (_, source) => groups[source] === groups[originals.length + source]);
    }),
  );
}

/** The same for a comparison of the words themselves, in any order. */
export function recallBySameWords({ originals, copies }: EditedTexts): number {
  const key = (words: Words | undefined): string => words?.toSorted().join(" ") ?? "";
  return shareOf(copies, (words, source) => key(words) === key(originals[source]));
}

/** By distance: how many of the texts, which are no copies, come into the group of another one. */
export function wronglyGrouped(texts: readonly string[]): Promise<number[]> {
  const fingerprints = texts.map((text) => fingerprintOf(wordsOf(text)));
  return Promise.all(
    DISTANCES.map(async (distance) => texts.length - new Set(await groupsOf(fingerprints, distance)).size),
  );
}

/**
 * By distance: texts arrive in a random order, each with its copies by all rules. Of all pairs of items in one group, the
 * share that goes back to one text.
 */
export async function precisionOf(texts: readonly string[], copies: readonly EditedTexts[]): Promise<number[]> {
  const pool = texts.flatMap((text, source) =>
    [wordsOf(text), ...copies.map((rule) => rule.copies[source] ?? [])].map((words) => ({ source, words })),
  );
  const arriving = shuffled(pool, randomOf(2));
  const sources = arriving.map(({ source }) => source);
  const fingerprints = arriving.map(({ words }) => fingerprintOf(words));
  return Promise.all(
    DISTANCES.map(async (distance) => shareOfRightPairs(sources, await groupsOf(fingerprints, distance))),
  );
}

/** The same texts are in several pools. */
const known = new WeakMap<Words, string>();

function fingerprintOf(words: Words): string {
  const fingerprint = known.get(words) ?? simhash(featuresOf(words));
  known.set(words, fingerprint);
  return fingerprint;
}

/** The group of each fingerprint, in the order in which they arrive. */
async function groupsOf(fingerprints: readonly string[], distance: number): Promise<string[]> {
  const nearDuplicates = await NearDuplicates.create({ distance });
  const groups = fingerprints.map((fingerprint, place) => nearDuplicates.groupOf(fingerprint, String(place)));
  nearDuplicates.free();
  return groups;
}

function shareOf<T>(items: readonly T[], is: (item: T, place: number) => boolean): number {
  return items.filter(is).length / items.length;
}

function shareOfRightPairs(sources: readonly number[], groups: readonly string[]): number {
  const members = new Map<string, Map<number, number>>();
  groups.forEach((group, place) => {
    const counts = members.get(group) ?? new Map<number, number>();
    const source = sources[place] ?? 0;
    members.set(group, counts.set(source, (counts.get(source) ?? 0) + 1));
  });
  const pairsIn = (count: number): number => (count * (count - 1)) / 2;
  const sum = (numbers: Iterable<number>): number => [...numbers].reduce((total, number) => total + number, 0);
  const bySource = [...members.values()].map((counts) => [...counts.values()]);
  const all = sum(bySource.map((counts) => pairsIn(sum(counts))));
  const right = sum(bySource.flat().map(pairsIn));
  return right / all;
}
