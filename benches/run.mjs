/**
 * The benchmarks, from nothing: set-up, build, measuring. `npm run bench`; README.md beside this file says what is
 * measured.
 *
 *     npm run bench -- --smoke    hardly any repetitions: to see that it runs
 *     npm run bench -- --quick    fewer repetitions: to see that it runs, not to quote
 *     npm run bench -- --bytes    what everything weighs, and no times: seconds instead of minutes
 *     npm run bench -- --readme   also writes the tables into README.md and docs/performance.md
 */
import { build } from "../scripts/build.mjs";
import { inProject } from "../scripts/lib/paths.mjs";
import { programs } from "../scripts/lib/programs.mjs";
import { run } from "../scripts/lib/run.mjs";
import { main, setUp } from "../scripts/setup.mjs";

await main(async () => {
  // Only the set-up for all tests knows how to get Chromium.
  await setUp(programs.chromium.find() === undefined ? "test" : "start");
  await build();
  await run(process.execPath, ["--import", "tsx", inProject("benches", "main.ts"), ...process.argv.slice(2)]);
});
