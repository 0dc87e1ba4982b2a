/**
 * The benchmarks, from nothing: set-up, build, measuring. `npm run bench`; README.md beside this file says what is
 * measured.
 *
 *     npm run bench -- --smoke    hardly any repetitions: to see that it runs
 *     npm run bench -- --quick    fewer repetitions: to see that it runs, not to quote
 *     npm run bench -- --bytes    what everything weighs, and no times: seconds instead of minutes
 *     npm run bench -- --readme   also writes the tables into README.md and docs/performance.md
 *     npm run bench -- --scale    instead: what many users take of a Redis; with --readme into docs/scale.md
 */
import { build } from "../scripts/build.mjs";
import { inProject } from "../scripts/lib/paths.mjs";
import { programs } from "../scripts/lib/programs.mjs";
import { run } from "../scripts/lib/run.mjs";
import { main, setUp } from "../scripts/setup.mjs";

await main(async () => {
  const isScale = process.argv.includes("--scale");
  const [needed, program] = isScale ? [programs.redis, ["scale", "main.ts"]] : [programs.chromium, ["main.ts"]];
  // Only the set-up for all tests knows how to get these.
  await setUp(needed.find() === undefined ? "test" : "start");
  await build({ sizes: !isScale });
  await run(process.execPath, ["--import", "tsx", inProject("benches", ...program), ...process.argv.slice(2)]);
});
