/** Mutants of Rust's functions in their source, each behind a condition. */

/** @typedef {{ line: number, column: number }} Position */
/** @typedef {{ start: Position, end: Position }} Span */
/**
 * As `cargo mutants --list --json` has it.
 * @typedef {{ name: string, file: string, function: { span: Span } | null, span: Span, replacement: string }} Mutant
 */

/**
 * The source with this mutant alone.
 * @param {string} source
 * @param {Mutant} mutant
 */
export function withMutant(source, { span, replacement }) {
  const offset = offsetsIn(source);
  return source.slice(0, offset(span.start)) + replacement + source.slice(offset(span.end));
}

/**
 * The source in which each function with mutants runs the one that `crate::mutant` names, or what it was; and for each
 * line which mutant is in it.
 * @param {string} source
 * @param {readonly Mutant[]} mutants of functions
 * @param {(mutant: Mutant) => number} numberOf
 * @returns {{ text: string, lines: (Mutant | undefined)[] }}
 */
export function withMutants(source, mutants, numberOf) {
  const offset = offsetsIn(source);
  const withoutComments = source.replace(/\/\/.*/g, (comment) => " ".repeat(comment.length));
  /** @type {Map<number, { end: number, mutants: Mutant[] }>} by where the function's body starts */
  const bodies = new Map();
  for (const mutant of mutants) {
    const { start, end } = mutant.function?.span ?? mutant.span;
    const body = withoutComments.indexOf("{", offset(start));
    if (bodies.has(body)) bodies.get(body)?.mutants.push(mutant);
    else bodies.set(body, { end: offset(end), mutants: [mutant] });
  }
  /** @type {(Mutant | undefined)[]} */
  const lines = [];
  let [text, done] = ["", 0];
  /** @param {string} more @param {Mutant} [mutant] */
  const add = (more, mutant) => {
    const first = text.split("\n").length;
    text += more;
    for (let line = first; line <= text.split("\n").length; line += 1) lines[line] = mutant;
  };
  for (const [start, { end, mutants }] of [...bodies].sort(([a], [b]) => a - b)) {
    if (start < done) continue;
    add(source.slice(done, start) + "{\n");
    for (const mutant of mutants) {
      const before = source.slice(start, offset(mutant.span.start));
      const after = source.slice(offset(mutant.span.end), end);
      add(`if crate::mutant(${String(numberOf(mutant))}) ${before}${mutant.replacement}${after}\n`, mutant);
      add("else\n");
    }
    add(`${source.slice(start, end)}\n}`);
    done = end;
  }
  add(source.slice(done));
  return { text, lines };
}

/** @param {string} source @returns {(position: Position) => number} */
function offsetsIn(source) {
  const starts = [0, ...[...source.matchAll(/\n/g)].map(({ index }) => index + 1)];
  return ({ line, column }) => (starts[line - 1] ?? 0) + column - 1;
}
