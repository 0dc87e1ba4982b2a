/** Writes Wasm modules as the text that js/wasm-text.ts, where it is described, reads, and the small module that it reads them with. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { writeWhole } from "../lib/files.mjs";
import { inProject } from "../lib/paths.mjs";
import { run } from "../lib/run.mjs";
import { featureFlags, wasmOpt } from "./check-wasm.mjs";
import { kindOf, partsOf } from "./wasm-code.mjs";

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
  await run(process.execPath, [wasmOpt, unpacker.source, "--output", assembled, ...featureFlags, "-Oz"]);
  const bytes = readFileSync(assembled).join(", ");
  const comment = "/** ../wasm-text.wat assembled. */";
  writeWhole(unpacker.product, `${comment}\nexport const unpacker = Uint8Array.of(${bytes});\n`);
}

/** In the order of the text. The unpacker knows the first six by their places; before the number of a load or store, it puts a 0. */
const streams = /** @type {const} */ ([
  ...["opcodes", "verbatim", "get", "set", "load", "store"],
  ...["i32", "i64", "call", "branch", "block", "global"],
]);

/** Opcodes from here on have nothing after them. */
const OPCODES_WITH_KIND = 0x43;

/** An opcode that Wasm does not have: here come bytes verbatim. */
const VERBATIM = 0x06;

const MOST_VERBATIM = 255;
const RANKED = 128;
const SEPARATOR = '"';

/**
 * The text that stands for this module.
 * @param {Uint8Array} wasm without alignments
 */
export function textOfModule(wasm) {
  const written = new Map(streams.map((name) => [name, /** @type {number[]} */ ([])]));
  /** @param {(typeof streams)[number]} stream @param {Iterable<number>} bytes */
  const write = (stream, bytes) => written.get(stream)?.push(...bytes);
  const ranks = Array.from({ length: RANKED }, (_, index) => index);

  /** @param {Uint8Array} bytes */
  const writeVerbatim = (bytes) => {
    for (let from = 0; from < bytes.length; from += MOST_VERBATIM) {
      const some = bytes.subarray(from, from + MOST_VERBATIM);
      write("opcodes", [VERBATIM]);
      write("verbatim", [some.length, ...some]);
    }
  };
  for (const part of partsOf(wasm)) {
    if ("verbatim" in part) {
      writeVerbatim(part.verbatim);
      continue;
    }
    const { opcode, kind, number } = part;
    if (kind !== "get" && kind !== "set") {
      write("opcodes", [opcode]);
      if (kind) write(kind, number);
    } else if (number.length > 1) {
      writeVerbatim(Uint8Array.of(opcode, ...number));
    } else {
      write("opcodes", [opcode]);
      write(kind, [rankOf(number[0], ranks)]);
    }
  }
  const kinds = Array.from({ length: OPCODES_WITH_KIND }, (_, opcode) => streams.indexOf(kindOf(opcode) ?? "opcodes"));
  return [kinds, ...written.values()].map(textOfBytes).join(SEPARATOR);
}

/**
 * How many others were named since this one was, which now is the latest.
 * @template T
 * @param {T} named
 * @param {T[]} ranks the latest first
 */
function rankOf(named, ranks) {
  const rank = ranks.indexOf(named);
  ranks.splice(rank, 1);
  ranks.unshift(named);
  return rank;
}

/**
 * The characters that stand for these bytes.
 * @param {readonly number[]} bytes
 */
function textOfBytes(bytes) {
  const [singles, firstSingle, quotientOne] = [92, 35, 32];
  const codes = bytes.flatMap((byte) => {
    const last = (byte % singles) + firstSingle;
    return byte < singles ? [last] : [quotientOne - 1 + Math.floor(byte / singles), last];
  });
  return codes.map((code) => String.fromCharCode(code)).join("");
}
