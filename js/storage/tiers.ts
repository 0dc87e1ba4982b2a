/** Which rows are merged into fewer: size-tiered, so that each recording is rewritten a few times only. */

/** The most recordings of a row, and the most rows with fewer that stay. */
const FULL_ROW = 1_000;
const MAX_SMALL_ROWS = 12;
const LEAST_ROWS = 8;
const MAX_RECORDINGS = 8_000;
/** Marks a row that cannot be decoded. */
export const DAMAGED = -1;

/** The number of recordings of each row, by its key, in the order in which they became known. */
export type Rows = ReadonlyMap<string, number>;

export function totalOf(rows: Rows): number {
  let total = 0;
  for (const count of rows.values()) total += Math.max(count, 0);
  return total;
}

/** Whether many rows are small. */
export function areSmall(rows: Rows): boolean {
  let small = 0;
  for (const count of rows.values()) if (count >= 0 && count < FULL_ROW) small++;
  return small > MAX_SMALL_ROWS;
}

/** Whether many recordings of rows are outdated. `recordings`: how many the table has. */
export function areOutdated(rows: Rows, recordings: () => number): boolean {
  const total = totalOf(rows);
  return total > FULL_ROW && total > 2 * recordings() + FULL_ROW;
}

/** The smallest rows: some, and then each that has at most as many recordings as those before it together. */
export function smallestRows(rows: Rows): string[] {
  const sorted = [...rows].filter(([, count]) => count !== DAMAGED).sort(([, one], [, other]) => one - other);
  const chosen: string[] = [];
  let sum = 0;
  for (const [key, count] of sorted) {
    if (sum + count > MAX_RECORDINGS || (chosen.length >= LEAST_ROWS && count > sum)) break;
    chosen.push(key);
    sum += count;
  }
  return chosen.length > 1 ? chosen : [];
}
