/** Runs `npx seenguard`. */
import { spawn } from "node:child_process";

const command = new URL("../../dist/cli.js", import.meta.url).pathname;

export interface Ended {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the command; what it reads is `input`, and nothing else is there. */
export function runCommand(args: readonly string[], input = ""): Promise<Ended> {
  const child = spawn(process.execPath, [command, ...args]);
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => (stdout += chunk));
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (stderr += chunk));
  // A command that needs no input may end before it was written.
  child.stdin.on("error", () => undefined).end(input);
  return new Promise((resolve, reject) => {
    child.once("error", reject).once("close", (status) => {
      resolve({ status, stdout, stderr });
    });
  });
}
