/**
 * Sets up, builds and runs the benchmarks: README.md describes them. They run on the current long-term release of Node,
 * whichever Node runs this script.
 */
import { parseArgs } from "node:util";
import { build } from "../../scripts/build.mjs";
import { inProject } from "../../scripts/lib/paths.mjs";
import { programs } from "../../scripts/lib/programs.mjs";
import { run } from "../../scripts/lib/run.mjs";
import { main, setUp } from "../../scripts/setup.mjs";
import { measuredRelease, nodeOf } from "../../scripts/lib/node-releases.mjs";

const USAGE = `npm run bench -- [--package] [--scale] [--servers] [--streams] [--all] [options]

  --package  times and sizes of the package: README.md, docs/performance.md; the default
  --scale    what many users take of a Redis: docs/scale.md
  --servers  the service in Rust next to a server in Node: docs/scale.md
  --streams  reports through Kafka and through a stream of Redis: docs/scale.md, docs/streams.md
  --all      all of these, one after the other

  --readme   also write the tables into these pages
  --smoke    hardly any repetitions: to see that it runs, not to quote
  --bytes    of the package the sizes only: seconds instead of minutes`;

const { chromium, jre, librdkafka, maven, redis } = programs;

/**
 * The benchmarks, each with its program and the system programs that it needs.
 * @type {Readonly<Record<"package" | "scale" | "servers" | "streams", { path: string[], needs: import("../../scripts/setup.mjs").Needs }>>}
 */
const benches = {
  package: { path: ["main.ts"], needs: { programs: [chromium, redis] } },
  scale: { path: ["scale", "main.ts"], needs: { programs: [redis] } },
  servers: { path: ["servers", "main.ts"], needs: { programs: [librdkafka, redis] } },
  streams: { path: ["servers", "streams.ts"], needs: { programs: [jre, librdkafka, maven, redis], broker: true } },
};
const names = /** @type {(keyof typeof benches)[]} */ (Object.keys(benches));

const options = ["package", "scale", "servers", "streams", "all", "readme", "smoke", "bytes", "help"];
const { values } = parseArgs({ options: Object.fromEntries(options.map((name) => [name, { type: "boolean" }])) });
const named = names.filter((name) => values[name] === true || values.all === true);
const chosen = named.length === 0 ? /** @type {const} */ (["package"]) : named;

async function measure() {
  for (const name of chosen) await setUp(benches[name].needs);
  await build({ sizes: chosen.includes("package") });
  const node = (await nodeOf(measuredRelease)) ?? process.execPath;
  for (const name of chosen) {
    const passed = ["readme", "smoke", ...(name === "package" ? ["bytes"] : [])].filter((option) => values[option]);
    const program = inProject("lab", "benches", ...benches[name].path);
    await run(node, ["--import", "tsx", program, ...passed.map((option) => `--${option}`)]);
  }
}

if (values.help === true) console.log(USAGE);
else await main(measure);
