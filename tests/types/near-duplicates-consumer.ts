/** The same for the entry of near-duplicates. It compiles without the DOM's types. */
import { NearDuplicates, SeenGuardError, simhash, type ErrorCode } from "seenguard/near-duplicates";

export async function group(titles: readonly string[]): Promise<string[]> {
  const near: NearDuplicates = await NearDuplicates.create({ distance: 2 });
  const features: readonly (string | readonly [string, number])[] = ["feature", ["weighted", 2]];
  const groups: string[] = [near.groupOf(simhash(features), "first")];
  for (const title of titles) groups.push(near.groupOf(simhash(title.split(" ")), title));
  near.free();
  return (await NearDuplicates.create()).groupOf(simhash(new Set(titles)), "all") === "" ? [] : groups;
}

export function codeOf(error: unknown): ErrorCode | undefined {
  return error instanceof SeenGuardError ? error.code : undefined;
}
