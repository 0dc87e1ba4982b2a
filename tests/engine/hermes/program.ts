/** Hermes, React Native's engine, as its npm package brings it. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";

const directories: Partial<Record<NodeJS.Platform, string>> = {
  linux: "linux64-bin",
  darwin: "osx-bin",
  win32: "win64-bin",
};

/** Runs a script, and returns what it prints. @param tools the directory whose node_modules has the package */
export async function runHermes(tools: string, script: string): Promise<string> {
  const program = join(tools, "node_modules", "hermes-engine-cli", directories[process.platform] ?? "", "hermes");
  // Its warnings are about names that a browser has.
  const options = { maxBuffer: 1 << 24, timeout: 60_000 };
  const { stdout } = await promisify(execFile)(program, ["-w", script], options);
  return stdout;
}
