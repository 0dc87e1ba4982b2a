/** The installed package on each platform, one after the other: compilers take all cores. */
import { join } from "node:path";
import { expect, inject, test } from "vitest";
import { platforms } from "./platforms.js";
import { readRows, rowOf, writeRows, type Row } from "./table.js";

const rows: Row[] = [];
const tried = platforms.filter(({ again }) => inject("update") || again !== true);

for (const platform of tried)
  test(`${platform.name}: ${platform.tested}`, async () => {
    const directory = join(inject("installed"), platform.app);
    await platform.run(directory);
    rows.push(rowOf(platform));
  });

test("the table in docs/platforms.md is of this run, other versions apart", () => {
  expect(rows.map(({ Platform }) => Platform)).toEqual(tried.map(({ name }) => name));
  if (inject("update")) writeRows(rows);
  const written = readRows();
  expect(written.map(({ Platform }) => Platform)).toEqual(platforms.map(({ name }) => name));
  const ofThisRun = written.filter(({ Platform }) => tried.some(({ name }) => name === Platform));
  const withoutVersions = (row: Row) => ({ ...row, Versions: "" });
  expect(ofThisRun.map(withoutVersions), "npx vitest run --project bundlers --update writes it again").toEqual(
    rows.map(withoutVersions),
  );
});
