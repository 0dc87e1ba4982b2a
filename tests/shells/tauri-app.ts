/** The app in examples/tauri as its team has it: a copy with the packed package installed, and compiled. */
import { execFile } from "node:child_process";
import { cp, mkdir, rm } from "node:fs/promises";
import type { Server } from "node:http";
import { join } from "node:path";
import { promisify } from "node:util";
import { inProject } from "../../scripts/lib/paths.mjs";
import { run } from "../../scripts/lib/run.mjs";
import { npmInstall, pack } from "../packed/pack.ts";

const exec = promisify(execFile);

interface ServerOptions {
  isStreaming: () => boolean;
  onRequest: (request: { path: string; method: string; headers: Record<string, string>; body: string }) => void;
}

export interface BuiltApp {
  readonly binary: string;
  /** The example's server, with a store of its own. */
  readonly startServer: (options: ServerOptions) => Promise<Server>;
}

export async function buildApp(): Promise<BuiltApp> {
  const target = inProject("target", "tauri");
  const directory = join(target, "app");
  await copySources(directory);
  const { tarball } = await pack(directory);
  await npmInstall(directory, `./${tarball}`);
  await exec(process.execPath, [inProject("node_modules", "typescript", "bin", "tsc"), "-p", directory]);
  await exec("npm", ["run", "build"], { cwd: directory });
  // As `tauri build` does: the pages are in the program, and come by Tauri's own scheme.
  const args = ["build", "--locked", "--features", "tauri/custom-protocol"];
  await run("cargo", args, { cwd: join(directory, "src-tauri"), env: { CARGO_TARGET_DIR: target } });
  const { startServer } = (await import(join(directory, "server.mjs"))) as Pick<BuiltApp, "startServer">;
  return { binary: join(target, "debug", "seenguard-example-tauri"), startServer };
}

/** In place of the copy before, at the same path: cargo compiles again what has changed. */
async function copySources(directory: string): Promise<void> {
  const isSource = (path: string) => !/[/\\](node_modules|dist|gen|target)$/.test(path);
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  const sources = inProject("examples", "tauri");
  await cp(sources, directory, { recursive: true, preserveTimestamps: true, filter: isSource });
}
