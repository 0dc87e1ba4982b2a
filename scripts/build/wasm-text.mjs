/** Writes Wasm modules as the text that js/wasm-text.ts, where it is described, reads, and the small module that it reads them with. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { writeWhole } from "../lib/files.mjs";
import { inProject } from "../lib/paths.mjs";
import { run } from "../lib/run.mjs";
import { wasmOpt } from "./check-wasm.mjs";

/** The unpacker: where it is written, and where scripts find it. */
export const unpacker = {
  source: inProject("js", "wasm-text.wat"),
  product: inProject("js", "generated", "unpacker.ts"),
};

/**
 * Assembles the unpacker.
 * @param {string} workshop a directory for what comes in between
 */
export async function buildUnpacker(workshop) {
  const assembled = join(workshop, "unpacker.wasm");
  await run(process.execPath, [wasmOpt, unpacker.source, "--output", assembled, "--mvp-features", "-Oz"]);
  const bytes = readFileSync(assembled).join(", ");
  const comment = "/** ../wasm-text.wat assembled. */";
  writeWhole(unpacker.product, `${comment}\nexport const unpacker = Uint8Array.of(${bytes});\n`);
}

/**
 * The text that stands for these bytes.
 * @param {Uint8Array} bytes
 */
export function textOfBytes(bytes) {
  const [singles, firstSingle, quotientOne] = [92, 35, 32];
  const codes = [...bytes].flatMap((byte) => {
    const last = (byte % singles) + firstSingle;
    return byte < singles ? [last] : [quotientOne - 1 + Math.floor(byte / singles), last];
  });
  return codes.map((code) => String.fromCharCode(code)).join("");
}
