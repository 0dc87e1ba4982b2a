/**
 * Sets up, builds and starts the demo: `npm start`. The last line of its output is the address. www/server/main.ts
 * lists its environment variables.
 */
import { spawn } from "node:child_process";
import { parseArgs } from "node:util";
import { buildForDemo } from "./build.mjs";
import { fromEnvironment, inProject, root } from "./lib/paths.mjs";
import { main, needsOfDemo, setUp } from "./setup.mjs";

const USAGE = `usage: npm start [-- --redis | --kafka | --flink] [--broker HOST:PORT]

  Without an option everything is kept in memory. Else pages come from seenguard-server, and what is named takes the
  impressions to it; all of it is set up, started, and ended with the demo:

  --redis             a stream of Redis, and the service's consumer
  --kafka             a Kafka broker, and the service's consumer
  --flink             a Kafka broker, and a Flink job
  --broker HOST:PORT  of your own Kafka broker, in place of one that is started; it has to have the topic seenguard-demo
  -h, --help          prints this

www/README.md lists the environment variables, such as that of your own Redis.`;

/** Reads the arguments. Ends the process for `--help` and invalid arguments. */
function readArguments() {
  try {
    const options = /** @type {const} */ ({
      redis: { type: "boolean", default: false },
      kafka: { type: "boolean", default: false },
      flink: { type: "boolean", default: false },
      broker: { type: "string", default: "" },
      help: { type: "boolean", short: "h" },
    });
    const { values } = parseArgs({ options });
    if (values.help === true) {
      console.log(USAGE);
      process.exit(0);
    }
    const [backEnd = "memory", ...others] = /** @type {const} */ (["redis", "kafka", "flink"]).filter(
      (name) => values[name],
    );
    if (others.length > 0) throw new Error("--redis, --kafka and --flink exclude each other");
    const { broker } = values;
    if (broker !== "" && backEnd !== "kafka" && backEnd !== "flink")
      throw new Error("--broker is for --kafka or --flink");
    if (broker !== "" && !/^[^:/]+:\d+$/.test(broker)) throw new Error(`--broker is ${broker}: HOST:PORT`);
    return { backEnd, broker };
  } catch (error) {
    const [reason] = /** @type {Error} */ (error).message.split(". ");
    console.error(`${reason ?? ""}\n\n${USAGE}`);
    process.exit(2);
  }
}

const { backEnd, broker } = readArguments();

await main(async () => {
  await buildForDemo();
  if (backEnd !== "memory") {
    const ownRedis = fromEnvironment("REDIS_URL") === undefined;
    const ownBroker = backEnd !== "redis" && broker === "";
    await setUp(needsOfDemo({ redis: ownRedis, broker: ownBroker, flink: backEnd === "flink" }));
  }
  const server = spawn(process.execPath, ["--import", "tsx", inProject("www", "server", "main.ts")], {
    cwd: root,
    stdio: "inherit",
    env: { ...process.env, BACK_END: backEnd, BROKER: broker },
  });
  // A terminal sends Ctrl-C to both: this script waits for the server's end. Other signals to this script are passed on
  // to the server.
  process.on("SIGINT", () => undefined);
  process.on("SIGTERM", () => server.kill("SIGTERM"));
  process.exitCode = await new Promise((resolve) => {
    server.once("exit", (code, signal) => {
      resolve(signal === null ? (code ?? 1) : 1);
    });
  });
});
