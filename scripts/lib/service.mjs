/** Builds the service of server/ by cargo, and runs it as a process. */
import { spawn } from "node:child_process";
import { copyFileSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fromEnvironment, inProject } from "./paths.mjs";
import { endWithUs, waitForOutput } from "./processes.mjs";
import { run } from "./run.mjs";

/**
 * @typedef {object} RunningService
 * @property {string} url
 * @property {import("node:child_process").ChildProcess} process
 * @property {(signal?: NodeJS.Signals) => Promise<void>} stop sends a signal, and resolves when the process has ended
 */

/** The service's feature for Kafka with all its settings. */
export const kafka = "kafka-ssl";

const ending = process.platform === "win32" ? ".exe" : "";

/** The program's copy by `prepareService`: cargo replaces its own when it compiles with other features. */
export const preparedService = inProject("target", "service", `seenguard-server${ending}`);

/** What `cargo test` and its like compile of the service, as quickly as may be: its tests wait for Redis. */
export const serviceTests = ["--package", "seenguard-server", "--profile", "dev", "--features", `testing,${kafka}`];

/**
 * Builds the program that several steps of `npm test` run, so that none of them waits for a lock of cargo, together
 * with the service's tests: apart from them it would compile most dependencies again, with fewer features.
 */
export async function prepareService() {
  await run("cargo", ["test", "--no-run", ...serviceTests]);
  mkdirSync(dirname(preparedService), { recursive: true });
  copyFileSync(programOf("debug"), preparedService);
}

/** @param {"debug" | "release"} profile */
const programOf = (profile) =>
  join(fromEnvironment("CARGO_TARGET_DIR") ?? inProject("target"), profile, `seenguard-server${ending}`);

/**
 * Builds the service. Resolves to the program's path. Steps of `npm test` that need `service-program` use the prepared
 * one.
 * @param {"debug" | "release"} [profile]
 * @param {string} [features] features in addition to the default ones, separated by commas: all by default, so that the
 *   tests share one build
 */
export async function buildService(profile = "debug", features = kafka) {
  const prepared = fromEnvironment("SEENGUARD_SERVICE");
  if (prepared !== undefined && profile === "debug" && features === kafka) return prepared;
  const options = ["--features", features, ...(profile === "release" ? ["--release"] : [])];
  await run("cargo", ["build", "--quiet", "--package", "seenguard-server", ...options]);
  return programOf(profile);
}

/**
 * Returns the program's flags for a chain.
 * @param {Pick<import("seenguard/server").ChainOptions, "capacity" | "shards" | "falsePositiveRate" | "ttlSeconds">} chain
 */
export function chainFlags({ capacity, shards, falsePositiveRate, ttlSeconds }) {
  const flags = { capacity, shards, "false-positive-rate": falsePositiveRate, "ttl-seconds": ttlSeconds };
  return Object.entries(flags).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, String(value)]));
}

/**
 * Starts the service, by default on a free port of the loopback. Resolves when it listens. It ends when this process
 * exits.
 * @param {string} program
 * @param {readonly string[]} [args] such as `["--redis", url]`
 * @returns {Promise<RunningService>}
 */
export async function startService(program, args = []) {
  const listen = args.includes("--listen") ? [] : ["--listen", "127.0.0.1:0"];
  // There is no load balancer that must notice the shutdown.
  const drain = args[0] === "consume" ? [] : ["--drain-seconds", "0"];
  const service = spawn(program, [...args, ...listen, ...drain], { stdio: ["ignore", "pipe", "inherit"] });
  const { stop } = endWithUs(service);
  const [, url = ""] = await waitForOutput(service, "seenguard-server", /^listening on (\S+)$/m);
  return { url, process: service, stop };
}
