/** The filters of other libraries, as they lie beside this file. */
import { readFileSync } from "node:fs";

/** What every case of such a file holds. */
interface ForeignCase {
  readonly capacity: number;
  readonly false_positive_rate: number;
  readonly inserted: number;
  /** One character for each of `ids`: "1" where the library answers "contained". */
  readonly answers: string;
}

export interface ForeignCases {
  readonly "go-bloomfilter": ForeignCase & { readonly hashes: number; readonly bits: number; readonly max_shards: number; readonly records: readonly string[] };
  readonly guava: ForeignCase & { readonly base64: string };
  readonly "bits-and-blooms": ForeignCase & { readonly base64: string; readonly json: string };
  readonly redisbloom: ForeignCase & { readonly scandump: readonly (readonly [iterator: number, chunk: string])[] };
}

const read = (name: string): unknown => JSON.parse(readFileSync(new URL(`${name}.json`, import.meta.url), "utf8"));

/** The 6,000 ids that all cases answer for; a case has inserted the first of them. */
export const ids = read("ids") as readonly string[];

export function casesOf<Format extends keyof ForeignCases>(format: Format): readonly ForeignCases[Format][] {
  return (read(format) as { cases: ForeignCases[Format][] }).cases;
}
