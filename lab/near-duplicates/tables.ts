/** The tables of docs/near-duplicates.md, by the names of their places there. */
import { chinese, chineseMessages, documentation, licences, titles, type Corpus } from "./corpora.ts";
import { TEXT_RULES, TITLE_RULES, type EditRule } from "./edits.ts";
import { edited, precisionOf, recallBySameWords, recallOf, wronglyGrouped, type EditedTexts } from "./pools.ts";

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
      return [name, String(all.length), wrong.join(" / "), withCopies.map(tenths).join(" / ")];
    }),
  );
  return table(["pool", "texts", "in another's group", "right pairs"], rows);
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
