/** Writes Wasm modules as the text that js/wasm-text.ts, where it is described, reads, and the small module that it reads them with. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { writeWhole } from "../lib/files.mjs";
import { inProject } from "../lib/paths.mjs";
import { run } from "../lib/run.mjs";
import { featureFlags, wasmOpt } from "./check-wasm.mjs";
import { CODE_SECTION, bytesOfNumber, kindOf, partsOf } from "./wasm-code.mjs";

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
  // Its functions run but once, when a page starts, and calls take a third of that.
  const options = ["-Oz", "--always-inline-max-function-size=200"];
  await run(process.execPath, [wasmOpt, unpacker.source, "--output", assembled, ...featureFlags, ...options]);
  const bytes = readFileSync(assembled).join(", ");
  const comment = "/** ../wasm-text.wat assembled. */";
  writeWhole(unpacker.product, `${comment}\nexport const unpacker = Uint8Array.of(${bytes});\n`);
}

/** In the order of the text. The unpacker knows the first six by their places; before the number of a load or store, it puts a 0. */
const streams = /** @type {const} */ ([
  ...["opcodes", "verbatim", "get", "set", "load", "store"],
  ...["i32", "i64", "call", "branch", "block", "global"],
]);

/** So many values of a byte are one character, the others two. */
const SHORT = 92;

/** Of the opcodes with two characters, those that come so often get one: for others, the table would cost what they gain. */
const OFTEN = 20;

/** The table tells an opcode by its distance from here, which is no stream's number: that of i32.add is the first one after these. */
const FIRST_TOLD = 94;

/** Opcodes that Wasm does not have: here a function begins; here come bytes verbatim; here come characters. */
const [FUNCTION, VERBATIM, PLAIN] = [0x06, 0x07, 0x08];

/** Bytes that are taken as the characters that they are: of fewer it would not pay to say so. */
const plain = /[ -~]{8,}/g;

/** Most bytes that are told of at once. */
const MOST_BYTES = 255;

/** A function's size has so many in the module that is unpacked. */
const SIZE_BYTES = 4;

const RANKED = 128;
const SEPARATOR = '"';
/** Among the characters. The unpacker writes down where each part of the text begins, and so what comes after each of these. */
const MOST_SEPARATORS = 50;

/**
 * The text that stands for this module.
 * @param {Uint8Array} wasm without alignments
 */
export function textOfModule(wasm) {
  const written = new Map(streams.map((name) => [name, /** @type {number[]} */ ([])]));
  /** @param {(typeof streams)[number]} stream @param {Iterable<number>} bytes */
  const write = (stream, bytes) => written.get(stream)?.push(...bytes);
  let characters = "";
  let ranks = unnamed();

  /** @param {Uint8Array} bytes */
  const writeVerbatim = (bytes) => {
    for (const some of piecesOf(bytes)) {
      write("opcodes", [VERBATIM]);
      write("verbatim", [some.length, ...some]);
    }
  };
  /** @param {Uint8Array} bytes */
  const writePlain = (bytes) => {
    for (const some of piecesOf(bytes)) {
      write("opcodes", [PLAIN]);
      write("verbatim", [some.length]);
      characters += String.fromCharCode(...some);
    }
  };
  const parts = [...partsOf(wasm)];
  const { table, shortFor } = shortOpcodes(parts);
  const missing = parts.reduce((sum, part) => sum + ("locals" in part ? SIZE_BYTES - part.sizeBytes : 0), 0);
  for (const part of parts) {
    if ("verbatim" in part) {
      const { verbatim } = part;
      let from = 0;
      for (const { index, 0: found } of Buffer.from(verbatim).toString("latin1").matchAll(plain)) {
        writeVerbatim(verbatim.subarray(from, index));
        from = index + found.length;
        writePlain(verbatim.subarray(index, from));
      }
      writeVerbatim(verbatim.subarray(from));
    } else if ("codeBytes" in part) {
      writeVerbatim(Uint8Array.of(CODE_SECTION, ...bytesOfNumber(part.codeBytes + missing)));
    } else if ("locals" in part) {
      ranks = unnamed();
      write("opcodes", [FUNCTION]);
      write("verbatim", [part.locals.length, ...part.locals]);
    } else {
      const { opcode, kind, number } = part;
      const isLocal = kind === "get" || kind === "set";
      if (isLocal && number.length > 1) {
        writeVerbatim(Uint8Array.of(opcode, ...number));
      } else {
        write("opcodes", [shortFor.get(opcode) ?? opcode]);
        if (kind) write(kind, isLocal ? [rankOf(number[0], ranks)] : number);
      }
    }
  }
  if (characters.split(SEPARATOR).length > MOST_SEPARATORS)
    throw new Error("too many quotation marks for the unpacker");
  return [...[table, ...written.values()].map(textOfBytes), characters].join(SEPARATOR);
}

/**
 * What each short opcode stands for, as the table tells it: itself, with the stream of the number after it; or another one, which is often, if no
 * instruction has the short one. And which short ones stand for others.
 * @param {readonly import("./wasm-code.mjs").Part[]} parts
 */
function shortOpcodes(parts) {
  const counts = /** @type {Map<number, number>} */ (new Map());
  for (const part of parts) if ("opcode" in part) counts.set(part.opcode, (counts.get(part.opcode) ?? 0) + 1);
  const often = [...counts]
    .filter(([opcode, count]) => count >= OFTEN && FIRST_TOLD + streams.length <= opcode && opcode < FIRST_TOLD + SHORT)
    .sort(([, count], [, other]) => other - count)
    .map(([opcode]) => opcode);
  const shortFor = /** @type {Map<number, number>} */ (new Map());
  const table = Array.from({ length: SHORT }, (_, opcode) => {
    const isFree = !counts.has(opcode) && ![FUNCTION, VERBATIM, PLAIN].includes(opcode);
    const other = isFree ? often.shift() : undefined;
    if (other === undefined) return streams.indexOf(kindOf(opcode) ?? "opcodes");
    shortFor.set(other, opcode);
    return other - FIRST_TOLD;
  });
  return { table, shortFor };
}

/**
 * @param {Uint8Array} bytes
 * @returns {Generator<Uint8Array>}
 */
function* piecesOf(bytes) {
  for (let from = 0; from < bytes.length; from += MOST_BYTES) yield bytes.subarray(from, from + MOST_BYTES);
}

/** The locals of a function that has named none, by their numbers. */
const unnamed = () => Array.from({ length: RANKED }, (_, index) => index);

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
  const [firstSingle, quotientOne] = [35, 32];
  const codes = bytes.flatMap((byte) => {
    const last = (byte % SHORT) + firstSingle;
    return byte < SHORT ? [last] : [quotientOne - 1 + Math.floor(byte / SHORT), last];
  });
  return codes.map((code) => String.fromCharCode(code)).join("");
}
