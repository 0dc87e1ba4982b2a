/** The heap of a Set of ids. Plain JavaScript, since Node and Chromium load this file unbundled. */

const COPIES = 20;
const FIRST_LETTER = 65;

/**
 * Measures the bytes of one Set with its ids, the mean of several.
 * @param {string} json the ids, as a server sends them
 * @param {() => Promise<number>} heapUsed collects garbage, and returns the bytes of the heap
 */
export async function heapOf(json, heapUsed) {
  /** @type {(number: number) => object} Each Set has its own ids: engines may store equal strings once. */
  const build = (number) => {
    /** @type {string[]} */
    const ids = JSON.parse(json.replaceAll(/."(?=[,\]])/g, `${String.fromCharCode(FIRST_LETTER + number)}"`));
    return new Set(ids);
  };
  // The first one compiles the code of the others.
  const built = [build(COPIES)];
  const before = await heapUsed();
  for (let copy = 0; copy < COPIES; copy++) built.push(build(copy));
  const bytes = ((await heapUsed()) - before) / COPIES;
  // Keep them alive until here.
  if (built.length !== COPIES + 1) throw new Error("one is missing");
  return bytes;
}
