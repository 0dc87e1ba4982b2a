/** The corpus of a target: one archive in lab/fuzz/corpus, and its inputs as files while it is in use. */
import { mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { inProject } from "../../../scripts/lib/paths.mjs";
import { CommandFailed, run } from "../../../scripts/lib/run.mjs";

/** Of all archives: each version of one stays in the history. */
const MOST_BYTES = 1_000_000;

/** By which the same inputs make the same archive, whenever and by whom they were written. */
const SAME_BYTES = ["--format=ustar", "--sort=name", "--mtime=@0", "--owner=0", "--group=0", "--numeric-owner"];

const archives = inProject("lab", "fuzz", "corpus");
const archiveOf = (/** @type {string} */ target) => `${archives}/${target}.tar.gz`;

/** Where the inputs of a target are unpacked. @param {string} target */
export const corpusOf = (target) => inProject("lab", "fuzz", "target", "corpus", target);

/** Replaces what is there by what the archive holds. @param {string} target */
export async function unpack(target) {
  rmSync(corpusOf(target), { recursive: true, force: true });
  mkdirSync(corpusOf(target), { recursive: true });
  await run("tar", ["-xzf", archiveOf(target), "-C", corpusOf(target)]);
}

/** Replaces the archive by what is there, by GNU tar. @param {string} target */
export async function pack(target) {
  const options = [...SAME_BYTES, "--mode=a=rX,u+w", "--use-compress-program=gzip -9n"];
  await run("tar", [...options, "-cf", archiveOf(target), "-C", corpusOf(target), "."]);
}

export function checkCorpusSize() {
  const bytes = readdirSync(archives).reduce((total, name) => total + statSync(`${archives}/${name}`).size, 0);
  console.log(`the corpus: ${bytes} bytes`);
  if (bytes > MOST_BYTES) throw new CommandFailed(`the corpus has ${bytes} bytes, at most ${MOST_BYTES}`);
}
