/** Runs an app's npm scripts as its developers would, and prints their output when they fail. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { basename, delimiter, dirname, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { onTestFailed, onTestFinished } from "vitest";
import { measuredRelease, nodeOf } from "../../scripts/lib/node-releases.mjs";
import { freePort } from "../../scripts/lib/processes.mjs";

const LINES_REPORTED = 30;
const START_TIMEOUT_MS = 60_000;

interface Manifest {
  readonly scripts: Readonly<Record<string, string>>;
  /** Present where the framework needs a newer Node than the package does. */
  readonly engines?: { readonly node: string };
}

const manifestOf = (directory: string): Manifest =>
  JSON.parse(readFileSync(join(directory, "package.json"), "utf8")) as Manifest;

/** Runs a script of the app's package.json to its end, and returns what it wrote. */
export async function runScript(directory: string, script: string): Promise<{ stdout: string; stderr: string }> {
  const program = await start(directory, script);
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    program[name].setEncoding("utf8").on("data", (text: string) => {
      output[name] += text;
    });
  }
  const [code, signal] = (await once(program, "close")) as [number | null, string | null];
  if (code !== 0) throw new Error(`npm run ${script} ended with ${signal ?? `exit code ${String(code)}`}`);
  return output;
}

/** Starts a script that serves pages at the port of the variable PORT until the test is over. Returns the address. */
export async function startServer(directory: string, script: string): Promise<string> {
  const port = await freePort();
  const program = await start(directory, script, { PORT: String(port), HOST: "127.0.0.1" });
  const address = `http://127.0.0.1:${String(port)}`;
  const deadline = Date.now() + START_TIMEOUT_MS;
  while (!(await isUp(address))) {
    if (program.exitCode !== null) throw new Error(`npm run ${script} ended at once`);
    if (Date.now() > deadline) throw new Error(`npm run ${script} does not respond at ${address}`);
    await setTimeout(100);
  }
  return address;
}

/** A script that ends with the test at the latest. If the test fails, its last output is printed. */
async function start(directory: string, script: string, env: Record<string, string> = {}) {
  // Node's directory comes first, so that it runs npm and whatever that starts.
  const PATH = [dirname(await nodeFor(directory)), process.env.PATH].join(delimiter);
  const program = spawn("npm", ["run", "--silent", script], {
    cwd: directory,
    env: { ...environment(), PATH, ...env },
    stdio: ["ignore", "pipe", "pipe"],
    // A group of its own, so that what npm has started ends with it.
    detached: true,
  });
  let output = "";
  for (const stream of [program.stdout, program.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  onTestFailed(() => {
    const lines = output.trimEnd().split("\n").slice(-LINES_REPORTED);
    console.error(`npm run ${script} in ${basename(directory)} ended with this output:\n${lines.join("\n")}`);
  });
  onTestFinished(async () => {
    if (program.pid === undefined || program.exitCode !== null) return;
    const ended = once(program, "close");
    process.kill(-program.pid, "SIGKILL");
    await ended;
  });
  return program;
}

/** The Node that runs the tests, or the current release for an app that requires it. */
async function nodeFor(directory: string): Promise<string> {
  const newer = manifestOf(directory).engines && (await nodeOf(measuredRelease));
  return newer ?? process.execPath;
}

const NO_TELEMETRY = {
  ...{ ASTRO_TELEMETRY_DISABLED: "1", NEXT_TELEMETRY_DISABLED: "1", NG_CLI_ANALYTICS: "false" },
  ...{ NUXT_TELEMETRY_DISABLED: "1", WRANGLER_SEND_METRICS: "false" },
};

/** The environment of this process without the variables of the test runner and npm, and with telemetry off. */
function environment(): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !/^(npm_|VITEST|NODE_|TEST$|DEV$|PROD$)/.test(name));
  return { ...Object.fromEntries(own), CI: "1", ...NO_TELEMETRY };
}

async function isUp(address: string): Promise<boolean> {
  try {
    await fetch(address);
    return true;
  } catch {
    return false;
  }
}
