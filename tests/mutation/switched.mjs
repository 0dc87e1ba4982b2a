/** Mutants of Rust's functions in their source, each behind a condition: many are compiled at once. */

/** @typedef {import("./lists.mjs").Mutant} Mutant */
/** @typedef {{ start: number, end: number }} Span */

const NOT_CODE = /\/\/.*|\/\*[^]*?\*\/|\br(#*)"[^]*?"\1|"(?:\\[^]|[^"\\])*"|'(?:\\.[^']*|[^\\'\n])'/g;

/**
 * The source in which each function with mutants runs the one that `crate::mutant` names, or what it was.
 * @param {string} source
 * @param {readonly Mutant[]} mutants each in a function
 * @param {(mutant: Mutant) => number} numberOf
 * @returns {{ text: string, lines: (readonly Mutant[] | undefined)[] }} lines: for each line which mutants are in it
 */
export function withMutants(source, mutants, numberOf) {
  const lines = /** @type {(readonly Mutant[] | undefined)[]} */ ([]);
  let [text, done] = ["", 0];
  /** @param {string} more @param {readonly Mutant[]} [mutants] */
  const add = (more, mutants) => {
    const first = text.split("\n").length;
    text += more;
    for (let line = first; line <= text.split("\n").length; line += 1) lines[line] = mutants;
  };
  for (const { start, end } of functionBodies(source)) {
    const inside = mutants.filter((mutant) => isWithin(changed(source, mutant), { start, end }));
    if (inside.length === 0) continue;
    add(`${source.slice(done, start)}{\n`);
    for (const mutant of inside) {
      const span = changed(source, mutant);
      const body = source.slice(start, span.start) + span.text + source.slice(span.end, end);
      add(`if crate::mutant(${String(numberOf(mutant))}) ${body}\n`, [mutant]);
      add("else\n");
    }
    // What the compiler says of the original, it says because the mutants stand beside it.
    add(source.slice(start, end), inside);
    add("\n}");
    done = end;
  }
  add(source.slice(done));
  return { text, lines };
}

/**
 * Whether a mutant is in a function that is called as the program runs.
 * @param {string} source
 * @param {Mutant} mutant
 */
export function isInFunction(source, mutant) {
  return functionBodies(source).some((body) => isWithin(changed(source, mutant), body));
}

/** @param {Span} inner @param {Span} outer the braces belong to it */
const isWithin = (inner, outer) => outer.start < inner.start && inner.end < outer.end;

/**
 * What of the source becomes which text, without what stays the same.
 * @param {string} source
 * @param {Mutant} mutant
 * @returns {Span & { text: string }}
 */
function changed(source, { from, to }) {
  let [same, sameAtEnd] = [0, 0];
  const length = Math.min(from.length, to.length);
  while (same < length && from[same] === to[same]) same += 1;
  while (sameAtEnd < length - same && from.at(-1 - sameAtEnd) === to.at(-1 - sameAtEnd)) sameAtEnd += 1;
  const start = source.indexOf(from);
  return {
    start: start + same,
    end: start + from.length - sameAtEnd,
    text: to.slice(same, to.length - sameAtEnd),
  };
}

/**
 * The bodies of all functions but those that the compiler may call. What is inside of a function belongs to it.
 * @param {string} source
 */
function functionBodies(source) {
  const code = source.replace(NOT_CODE, (text) => " ".repeat(text.length));
  const bodies = /** @type {Span[]} */ ([]);
  for (const { 0: words, index } of code.matchAll(/\b(const\s+)?(unsafe\s+)?fn\s+\w+/g)) {
    if (index < (bodies.at(-1)?.end ?? 0) || words.startsWith("const")) continue;
    const start = endOfBrackets(code, index, "{;");
    if (code[start] === "{") bodies.push({ start, end: endOfBrackets(code, start + 1, "}") + 1 });
  }
  return bodies;
}

/**
 * Where the first of these characters is that is in no brackets.
 * @param {string} code
 * @param {number} index from where
 * @param {string} characters
 */
function endOfBrackets(code, index, characters) {
  let depth = 0;
  while (depth > 0 || !characters.includes(code.charAt(index))) {
    if ("([{".includes(code.charAt(index))) depth += 1;
    if (")]}".includes(code.charAt(index))) depth -= 1;
    index += 1;
  }
  return index;
}
