/**
 * How long lines and files may be. Formatters do not break comments and texts; of Rust, no stable tool counts either.
 *
 * A file's tests at its end do not count as its lines. Markdown has tables, and data is as it was made.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { inProject, root } from "../lib/paths.mjs";
import { CommandFailed } from "../lib/run.mjs";

const MAX_COLUMNS = 120;
const MAX_LINES = 400;

const code = /\.(c?js|mjs|tsx?|cts|rs|lua|css|html|toml|go|java|py)$/;
const limited = /^(src|js|cli|scripts|www)\//;
/** Published by others, or by tools. */
const exempt = "tests/vectors/";

export function checkLines() {
  const files = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], { cwd: root })
    .toString()
    .split("\n")
    .filter((path) => code.test(path) && !path.startsWith(exempt));
  const wrong = files.flatMap(complaints);
  if (wrong.length > 0) throw new CommandFailed(wrong.join("\n"));
  console.log(`${String(files.length)} files`);
}

/** What may be broken of a line: not texts in quotes, nor addresses. @param {string} line */
const withoutTexts = (line) => line.replaceAll(/(["'`]).*\1|https?:\/\/\S+/g, "");

/** Characters, of which some are two of a string's units. @param {string} line */
const columns = (line) => Array.from(line).length;

/**
 * @param {string} path
 * @returns {string[]}
 */
function complaints(path) {
  const lines = readFileSync(inProject(path), "utf8").split("\n");
  const tooWide = lines.flatMap((line, index) =>
    columns(withoutTexts(line)) > MAX_COLUMNS
      ? [`${path}:${String(index + 1)}: ${String(columns(line))} columns, at most ${String(MAX_COLUMNS)}`]
      : [],
  );
  const tests = lines.lastIndexOf("#[cfg(test)]");
  const count = tests < 0 ? lines.length - 1 : tests;
  const tooLong = limited.test(path) && count > MAX_LINES;
  return tooLong
    ? [`${path}: ${String(count)} lines without its tests, at most ${String(MAX_LINES)}`, ...tooWide]
    : tooWide;
}
