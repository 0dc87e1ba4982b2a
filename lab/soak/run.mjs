/** Sets up, builds and runs the soaks: `npm run soak -- browser`, `-- service`; see README.md. */
import { build } from "../../scripts/build.mjs";
import { inProject } from "../../scripts/lib/paths.mjs";
import { programs } from "../../scripts/lib/programs.mjs";
import { run } from "../../scripts/lib/run.mjs";
import { main, setUp } from "../../scripts/setup.mjs";

const { chromium, firefox, jre, kcat, librdkafka, maven, redis } = programs;

await main(async () => {
  await setUp({ programs: [chromium, firefox, jre, kcat, librdkafka, maven, redis], broker: true });
  await build();
  await run(process.execPath, ["--import", "tsx", inProject("lab", "soak", "main.ts"), ...process.argv.slice(2)]);
});
