/** Compiles the job's classes with `Driver.java`, and has it run commands. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { delimiter, join } from "node:path";
import { text } from "node:stream/consumers";
import { compile, jobSources } from "../../examples/flink/job.mjs";
import { inProject } from "../../scripts/lib/paths.mjs";
import { flinkJars } from "../../scripts/lib/servers.mjs";

/** Returns a function that runs commands, one a line, and resolves to the answers in their order. */
export async function buildDriver(name: string): Promise<(commands: readonly string[]) => Promise<string[]>> {
  const classes = inProject("target", "flink", name);
  await compile(classes, [...jobSources(), inProject("tests", "flink", "Driver.java")]);
  const classPath = [classes, join(flinkJars())].join(delimiter);
  return async (commands) => {
    const args = ["-XX:TieredStopAtLevel=1", "-cp", classPath, "seenguard.flink.Driver"];
    const child = spawn("java", args, { stdio: ["pipe", "pipe", "inherit"] });
    child.stdin.end(commands.map((command) => `${command}\n`).join(""));
    const [answers] = await Promise.all([text(child.stdout), once(child, "exit")]);
    const lines = answers.split("\n").slice(0, -1);
    if (lines.length !== commands.length)
      throw new Error(`${String(lines.length)} of ${String(commands.length)} answers`);
    return lines;
  };
}

export const base64 = (id: string): string => Buffer.from(id).toString("base64");
