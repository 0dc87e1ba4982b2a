/**
 * Runs the Rust examples of a page of documentation against the crate as it is. It is compiled apart: the crate's file has
 * one name whatever its features, and the service's own examples may link to it meanwhile.
 */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { root } from "./examples.ts";

const run = promisify(execFile);

/** Returns rustdoc's output, which says how many examples passed and failed. */
export async function testRustExamples(page: string): Promise<string> {
  const apart = ["--target-dir", join(root, "target", "docs-examples")];
  const { stdout } = await run("cargo", ["build", "--quiet", "--lib", "--message-format", "json", ...apart], {
    cwd: root,
    maxBuffer: 1 << 26,
  });
  const library = /"filenames":\["([^"]+\.rlib)"/.exec(
    stdout.split("\n").find((line) => line.includes('"name":"seenguard"') && line.includes("compiler-artifact")) ?? "",
  )?.[1];
  if (library === undefined) throw new Error("cargo did not report where it put the crate");
  const [directory = ""] = /^.*[/\\]/.exec(library) ?? [];
  const linked = ["--extern", `seenguard=${library}`, "-L", `dependency=${directory}deps`];
  const rustdoc = run("rustdoc", ["--test", page, "--edition", "2024", ...linked], { cwd: root });
  return (await rustdoc.catch((error: unknown) => error as { stdout: string })).stdout;
}
