/** The tables of docs/near-duplicates.md, by the names of their places there. */
import { simhash } from "seenguard/near-duplicates";
import { randomOf } from "../../www/server/random.ts";
import { featuresOf, wordsOf } from "../../examples/near-duplicates/features.ts";
import { chinese, chineseMessages, documentation, licences, titles, type Corpus } from "./corpora.ts";
import { MISSPELT, partsOf, TEXT_RULES, textOf, TITLE_RULES, type EditRule } from "./edits.ts";
import {
  DISTANCES,
  edited,
  groupsOf,
  precisionOf,
  recallBySameWords,
  recallOf,
  shareOf,
  wronglyGrouped,
  type EditedTexts,
} from "./pools.ts";

/** A corpus with its copies by each rule. */
interface Measured extends Corpus {
  readonly copies: readonly EditedTexts[];
}

export async function measure(): Promise<Record<string, string>> {
  const short = [...titles(), chineseMessages()].map(withCopies(TITLE_RULES));
  const long = [...[30, 100, 300, 1000].map(documentation), chinese(300)].map(withCopies(TEXT_RULES));
  const at300 = long.filter(({ name }) => name === "300 words");
  return {
    titles: await recallTable(short, [], true),
    texts: await recallTable(long, at300, false),
    precision: await precisionTable([...short, ...long, withCopies([])(licences())]),
    drift: await driftTable(documentation(300)),
  };
}

const withCopies =
  (rules: readonly EditRule[]) =>
  (corpus: Corpus): Measured => ({
    ...corpus,
    copies: edited(corpus.texts, rules),
  });

/** At 3 bits; of `alsoAt1` at 1 bit, too. */
async function recallTable(
  corpora: readonly Measured[],
  alsoAt1: readonly Measured[],
  withSameWords: boolean,
): Promise<string> {
  const rules = corpora[0]?.copies.map(({ rule }) => rule) ?? [];
  const at = async (measured: readonly Measured[], place: number, distance: number): Promise<string[]> => {
    const copies = measured.map((corpus) => corpus.copies[place]).filter((one) => one !== undefined);
    const recalls = await Promise.all(copies.map(recallOf));
    return recalls.map((recall) => percent(recall.at(distance) ?? 0));
  };
  const rows = await Promise.all(
    rules.map(async (rule, place) => {
      const copies = corpora.map((corpus) => corpus.copies[place]).filter((one) => one !== undefined);
      const sameWords = withSameWords ? [range(copies.map(recallBySameWords))] : [];
      return [rule, ...sameWords, ...(await at(corpora, place, -1)), ...(await at(alsoAt1, place, 0))];
    }),
  );
  const head = [...corpora.map(({ name }) => name), ...alsoAt1.map(({ name }) => `${name}, 1 bit`)];
  return table(["edit", ...(withSameWords ? ["same words"] : []), ...head], rows);
}

async function precisionTable(corpora: readonly Measured[]): Promise<string> {
  const rows = await Promise.all(
    corpora.map(async ({ name, all, texts, copies }) => {
      const wrong = await wronglyGrouped(all);
      const withCopies = await precisionOf(texts, copies);
      const pairs = withCopies.map((precision) => tenths(precision.pairs));
      const largest = withCopies.map((precision) => precision.largest);
      return [name, all.length, wrong.join(" / "), texts.length, pairs.join(" / "), largest.join(" / ")].map(String);
    }),
  );
  const head = ["pool", "texts alone", "in another's group", "texts with copies", "right pairs", "texts in one group"];
  return table(head, rows);
}

const REVISIONS = 30;
const REVISED_TEXTS = 20;

/** Texts that are revised again and again: each revision arrives as an item. */
async function driftTable({ texts }: Corpus): Promise<string> {
  const histories = texts.slice(0, REVISED_TEXTS).map((text, seed) => historyOf(text, seed));
  const rows = await Promise.all(
    DISTANCES.map(async (distance) => {
      const groups = await Promise.all(histories.map((fingerprints) => groupsOf(fingerprints, distance)));
      const revisions = groups.flatMap((ofText, text) =>
        ofText.map((group, place) => ({ inFirst: group === "0", bits: bitsBetween(histories[text], place) })),
      );
      const inFirst = revisions.filter(({ inFirst }) => inFirst);
      return [
        `${distance} ${distance === 1 ? "bit" : "bits"}`,
        percent(shareOf(revisions, ({ inFirst }) => inFirst)),
        percent(shareOf(inFirst, ({ bits }) => bits > distance)),
        String(Math.max(...inFirst.map(({ bits }) => bits))),
      ];
    }),
  );
  return table(["distance", "revisions in the first one's group", "of these, further from it", "at most, bits"], rows);
}

function historyOf(text: string, seed: number): string[] {
  const random = randomOf(seed);
  const fingerprints: string[] = [];
  for (let revision = 0, latest = text; revision <= REVISIONS; revision++) {
    fingerprints.push(simhash(featuresOf(wordsOf(latest))));
    latest = textOf(MISSPELT.edit(partsOf(latest), random));
  }
  return fingerprints;
}

/** By how many bits a revision differs from the first. */
function bitsBetween(fingerprints: readonly string[] = [], place: number): number {
  const [first, other] = [fingerprints[0] ?? "0", fingerprints[place] ?? "0"].map((hex) => BigInt(`0x${hex}`));
  return ((first ?? 0n) ^ (other ?? 0n)).toString(2).replaceAll("0", "").length;
}

const percent = (share: number): string => `${Math.round(100 * share)}%`;
const tenths = (share: number): string => `${(100 * share).toFixed(1)}%`;

/** The smallest and the largest. */
function range(shares: readonly number[]): string {
  const [least, most] = [percent(Math.min(...shares)), percent(Math.max(...shares))];
  return least === most ? least : `${least} to ${most}`;
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [head, head.map((_, place) => (place === 0 ? "---" : "---:")), ...rows].map(line).join("\n");
}
