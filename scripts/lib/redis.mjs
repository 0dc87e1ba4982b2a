/** A redis-server of our own: on a free port of the loopback, with its files in a directory that goes with it. */
import { spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { endWithUs, freePort, untilItSays } from "./processes.mjs";
import { programs } from "./programs.mjs";

/**
 * @typedef {object} RunningRedis
 * @property {number} port
 * @property {string} url
 * @property {import("node:child_process").ChildProcess} process
 * @property {(signal?: NodeJS.Signals) => Promise<void>} stop
 */

/**
 * Resolves when it accepts connections. It writes nothing to disk, and ends when this process exits; a signal that ends
 * this process at once, as Node does by default, leaves it running.
 * @param {Readonly<Record<string, string | number>>} [settings] more of its configuration; `port` is a free one
 * @returns {Promise<RunningRedis>}
 */
export async function startRedis(settings = {}) {
  const directory = await mkdtemp(join(tmpdir(), "seenguard-redis-"));
  const port = Number(settings.port ?? (await freePort()));
  const options = { bind: "127.0.0.1", dir: directory, save: "", appendonly: "no", ...settings, port };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  // Not in our group: a terminal's Ctrl-C is for us, who end what writes to it first.
  const server = spawn(programs.redis.find() ?? "redis-server", args, {
    stdio: ["ignore", "pipe", "inherit"],
    detached: true,
  });
  const removeFiles = () => {
    rmSync(directory, { recursive: true, force: true });
  };
  const { stop: end } = endWithUs(server);
  process.once("exit", removeFiles);
  await untilItSays(server, "redis-server", /Ready to accept connections/);
  const stop = async (/** @type {NodeJS.Signals} */ signal = "SIGTERM") => {
    await end(signal);
    process.removeListener("exit", removeFiles);
    await rm(directory, { recursive: true, force: true });
  };
  return { port, url: `redis://127.0.0.1:${String(port)}`, process: server, stop };
}
