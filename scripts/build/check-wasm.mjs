/** What must hold for the finished module: it loads in the oldest engines that the package supports, and tells nothing of the machine that built it. */
import { homedir } from "node:os";
import { inProject, root } from "../lib/paths.mjs";
import { output } from "../lib/run.mjs";

/** What Chromium 96, Safari 15 and Node 20 have all learnt since the first Wasm. */
const allowed = [
  "mutable-globals",
  "sign-ext",
  "bulk-memory",
  "nontrapping-float-to-int",
  "reference-types",
  "multivalue",
];

/** @param {readonly string[]} features */
const flags = (features) => ["--mvp-features", ...features.map((name) => `--enable-${name}`)];

export const wasmOpt = inProject("node_modules", "binaryen", "bin", "wasm-opt");

/** wasm-opt's flags: these features and no others. */
export const featureFlags = flags(allowed);

/**
 * Rejects if the module needs a feature that is not allowed; returns those that it needs.
 * @param {string} file
 */
export async function checkFeatures(file) {
  const without = allowed.map((name) => isValid(file, flags(allowed.filter((other) => other !== name))));
  if (!(await isValid(file, featureFlags))) {
    throw new Error("the Wasm module uses a feature that Chromium 96, Safari 15 or Node 20 lacks");
  }
  const dispensable = await Promise.all(without);
  return allowed.filter((_, index) => dispensable[index] === false);
}

/**
 * Whether the module is valid Wasm of these features: wasm-opt reads and validates it, and is told to change nothing.
 * @param {string} file
 * @param {readonly string[]} features
 */
async function isValid(file, features) {
  return (await output(process.execPath, [wasmOpt, file, ...features])) !== undefined;
}

/**
 * Throws if the module holds a path of this machine.
 * @param {Uint8Array} wasm
 */
export function checkPaths(wasm) {
  const text = Buffer.from(wasm).toString("latin1");
  const places = [root, homedir(), process.env.CARGO_HOME, process.env.RUSTUP_HOME, process.env.CARGO_TARGET_DIR];
  for (const place of places) {
    if (!place || place === "/") continue;
    const at = text.indexOf(`${place}/`);
    if (at >= 0) throw new Error(`the Wasm module holds a path of this machine: ${text.slice(at, at + 80)}`);
  }
}
