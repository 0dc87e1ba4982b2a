/**
 * The benchmarks, from nothing: set-up, build, measuring. `npm run bench`; README.md beside this file says what is
 * measured. What measures is the release of Node that people run, whichever runs this.
 *
 *     npm run bench -- --smoke     hardly any repetitions: to see that it runs
 *     npm run bench -- --quick     fewer repetitions: to see that it runs, not to quote
 *     npm run bench -- --bytes     what everything weighs, and no times: seconds instead of minutes
 *     npm run bench -- --readme    also writes the tables into README.md and docs/performance.md
 *     npm run bench -- --scale     instead: what many users take of a Redis; with --readme into docs/scale.md
 *     npm run bench -- --servers   instead: the service in Rust beside a server in Node; with --readme into docs/scale.md
 *     npm run bench -- --streams   instead: reports by way of Kafka and of a stream of Redis; with --readme into docs/
 *     npm run bench -- --releases  instead: older releases of Node; with --readme into docs/performance.md
 */
import { build } from "../../scripts/build.mjs";
import { inProject } from "../../scripts/lib/paths.mjs";
import { programs } from "../../scripts/lib/programs.mjs";
import { run } from "../../scripts/lib/run.mjs";
import { main, setUp } from "../../scripts/setup.mjs";
import { measuredRelease, nodeOf } from "../../scripts/lib/node-releases.mjs";

const { chromium, jre, librdkafka, maven, redis } = programs;
/**
 * What is measured instead: its program, and what that needs of the system.
 * @type {Record<string, [program: string[], needs: import("../../scripts/setup.mjs").Needs]>}
 */
const others = {
  "--scale": [["scale", "main.ts"], { programs: [redis] }],
  "--servers": [["servers", "main.ts"], { programs: [librdkafka, redis] }],
  "--streams": [["servers", "streams.ts"], { programs: [jre, librdkafka, maven, redis], broker: true }],
  "--releases": [["releases.ts"], {}],
};
const [, other] = Object.entries(others).find(([option]) => process.argv.includes(option)) ?? [];
const [program, needs] = other ?? [["main.ts"], { programs: [chromium] }];

await main(async () => {
  await setUp(needs);
  await build({ sizes: other === undefined });
  const node = (await nodeOf(measuredRelease)) ?? process.execPath;
  await run(node, ["--import", "tsx", inProject("lab", "benches", ...program), ...process.argv.slice(2)]);
});
