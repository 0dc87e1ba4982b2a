/**
 * Whether both registries would accept what is published unchanged, and an empty app can use the crates as they are packed:
 * nothing is uploaded. `packed` does the same with the npm package.
 */
import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { packageDirectory } from "../build/package.mjs";
import { fromEnvironment, inProject, root } from "../lib/paths.mjs";
import { CommandFailed, run } from "../lib/run.mjs";

/** The output of a dry run on any machine. */
const expected = [
  // cargo finds the programs of tests, benchmarks and examples, and the crate has none of them but one on purpose.
  /^warning: ignoring (test|benchmark|example) `.*` as `.*` is not included in the published package$/,
  /^npm warn publish This command requires you to be logged in/,
];

const crates = ["seenguard", "seenguard-server"];

export async function checkPublish() {
  dryRun("npm", ["publish", "--dry-run", packageDirectory], /^npm warn publish /);
  const packages = crates.flatMap((crate) => ["--package", crate]);
  // The app compiles them.
  dryRun("cargo", ["package", "--locked", "--allow-dirty", "--no-verify", ...packages], /^warning: /);
  await useCrates();
}

const appManifest = `[workspace]

[package]
name = "app"
edition = "2024"

[dependencies]
seenguard = "0.1.0"
seenguard-server = { version = "0.1.0", default-features = false, features = ["axum"] }

[patch.crates-io]
${crates.map((crate) => `${crate} = { path = "../${crate}-0.1.0" }`).join("\n")}
`;

const app = `use seenguard_server::{MemoryBackend, RouterOptions, SeenStore, StoreOptions, router};

fn main() {
    let options = StoreOptions::default();
    let store = SeenStore::new(MemoryBackend::default(), options).expect("these options are right");
    let _app = router(store, RouterOptions::default());
    let _plan = seenguard::ChainOptions::RECOMMENDED;
}
`;

/** An app of nothing but the two crates, as `cargo package` has made them, in which the compiler warns of nothing. */
async function useCrates() {
  const target = fromEnvironment("CARGO_TARGET_DIR") ?? inProject("target");
  const directory = join(target, "published");
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(join(directory, "app", "src"), { recursive: true });
  for (const crate of crates)
    await run("tar", ["xzf", join(target, "package", `${crate}-0.1.0.crate`)], { cwd: directory });
  writeFileSync(join(directory, "app", "Cargo.toml"), appManifest);
  writeFileSync(join(directory, "app", "src", "main.rs"), app);
  // Elsewhere than the workspace's: the library's file has one name, whatever it was compiled with.
  const env = { CARGO_TARGET_DIR: join(directory, "target"), RUSTFLAGS: "-D warnings" };
  await run("cargo", ["check", "--quiet"], { cwd: join(directory, "app"), env });
}

/**
 * Fails if the command does, or if it warns of anything.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {RegExp} warning
 */
function dryRun(command, args, warning) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd: root, encoding: "utf8" });
  console.log(`${stdout}${stderr}`);
  if (status !== 0) throw new CommandFailed(`${command} ${args.join(" ")} failed${error ? `: ${error.message}` : ""}`);
  const warnings = stderr.split("\n").filter((line) => warning.test(line) && !expected.some((each) => each.test(line)));
  if (warnings.length > 0) throw new CommandFailed(warnings.join("\n"));
}
