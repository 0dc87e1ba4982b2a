/**
 * The demo, from nothing: set-up, build, server. `npm start`; its last line is the address. www/server/main.ts says
 * which environment variables it knows.
 */
import { spawn } from "node:child_process";
import { parseArgs } from "node:util";
import { build } from "./build.mjs";
import { inProject, root } from "./lib/paths.mjs";
import { programs } from "./lib/programs.mjs";
import { forFlink, main, setUp } from "./setup.mjs";

const USAGE = `usage: npm start [-- --server rust] [-- --flink]

  --server rust  pages come from seenguard-server, in Rust, whose consumer takes the impressions in; starts Redis and
                 both, and ends them with the demo
  --flink        the same by way of Kafka, from which a Flink job takes the impressions in; starts Redis, Kafka, the
                 service and Flink, and ends them with the demo
  -h, --help     prints this

www/README.md lists the environment variables.`;

/** What was asked for; ends the process where that is help, or nothing that there is. */
function readArguments() {
  try {
    const options = /** @type {const} */ ({
      flink: { type: "boolean" },
      server: { type: "string", default: "node" },
      help: { type: "boolean", short: "h" },
    });
    const { values } = parseArgs({ options });
    if (values.help === true) {
      console.log(USAGE);
      process.exit(0);
    }
    if (!["node", "rust"].includes(values.server)) throw new Error(`--server is ${values.server}: node or rust`);
    if (values.flink && values.server === "rust")
      throw new Error("--flink and --server rust are two consumers: one of them");
    return values;
  } catch (error) {
    const [reason] = /** @type {Error} */ (error).message.split(". ");
    console.error(`${reason}\n\n${USAGE}`);
    process.exit(2);
  }
}

const { flink = false, server: kind } = readArguments();

await main(async () => {
  await build({ sizes: false });
  if (flink) await setUp(forFlink);
  if (kind === "rust") await setUp({ programs: [programs.redis] });
  const server = spawn(process.execPath, ["--import", "tsx", inProject("www", "server", "main.ts")], {
    cwd: root,
    stdio: "inherit",
    env: { ...process.env, SERVER: kind, ...(flink && { CONSUMER: "flink" }) },
  });
  // A terminal sends Ctrl-C to both; the server ends in its own time, and this script with it. Who ends this script
  // alone means the server too.
  process.on("SIGINT", () => undefined);
  process.on("SIGTERM", () => server.kill("SIGTERM"));
  process.exitCode = await new Promise((resolve) => {
    server.once("exit", (code, signal) => {
      resolve(signal === null ? (code ?? 1) : 1);
    });
  });
});
