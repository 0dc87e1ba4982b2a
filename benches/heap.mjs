/** What a Set of ids takes of the heap: plain JavaScript, since Node and Chromium load this very file. */

const SETS = 20;
const FIRST_LETTER = 65;

/**
 * Bytes of one Set with the ids it holds, of the mean of several.
 * @param {string} json the ids, as a server sends them
 * @param {() => Promise<number>} heapUsed collects what nobody holds, and tells the bytes that are left
 */
export async function heapOfSets(json, heapUsed) {
  /** @type {(number: number) => Set<string>} Ids of its own: engines may keep equal texts once. */
  const build = (number) => {
    /** @type {string[]} */
    const ids = JSON.parse(json.replaceAll(/."(?=[,\]])/g, `${String.fromCharCode(FIRST_LETTER + number)}"`));
    return new Set(ids);
  };
  // The first one compiles what the others use.
  const sets = [build(SETS)];
  const before = await heapUsed();
  for (let set = 0; set < SETS; set++) sets.push(build(set));
  const bytes = ((await heapUsed()) - before) / SETS;
  // They have to live until here.
  if (sets.length !== SETS + 1) throw new Error("a Set is missing");
  return bytes;
}
