/** A local redis-server on a free port of the loopback, with its files in a temporary directory. */
import { spawn } from "node:child_process";
import { rmSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { endWithUs, freePort, waitForOutput } from "./processes.mjs";
import { programs } from "./programs.mjs";

/**
 * @typedef {object} RunningRedis
 * @property {number} port
 * @property {string} url
 * @property {import("node:child_process").ChildProcess} process
 * @property {(signal?: NodeJS.Signals) => Promise<void>} stop
 */

/**
 * Starts Redis without persistence. Resolves when it accepts connections. It ends when this process exits, but not if a
 * signal without a handler ends this process. @param {Readonly<Record<string, string | number>>} [settings] additional
 * settings; the default of `port` is a free one
 * @returns {Promise<RunningRedis>}
 */
export async function startRedis(settings = {}) {
  const directory = await mkdtemp(join(tmpdir(), "seenguard-redis-"));
  const port = Number(settings.port ?? (await freePort()));
  const options = { bind: "127.0.0.1", dir: directory, save: "", appendonly: "no", ...settings, port };
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  // In a process group of its own, so that a terminal's Ctrl-C reaches only this process, which ends its writers first.
  const server = spawn(programs.redis.find() ?? "redis-server", args, {
    stdio: ["ignore", "pipe", "inherit"],
    detached: true,
  });
  const removeFiles = () => {
    rmSync(directory, { recursive: true, force: true });
  };
  const { stop: end } = endWithUs(server);
  process.once("exit", removeFiles);
  await waitForOutput(server, "redis-server", /Ready to accept connections/);
  const stop = async (/** @type {NodeJS.Signals} */ signal = "SIGTERM") => {
    await end(signal);
    process.removeListener("exit", removeFiles);
    await rm(directory, { recursive: true, force: true });
  };
  return { port, url: `redis://127.0.0.1:${String(port)}`, process: server, stop };
}
