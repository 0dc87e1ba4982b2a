/** The heap of a Set of ids: plain JavaScript, since Node and Chromium load this very file. */

const COPIES = 20;
const FIRST_LETTER = 65;

/**
 * Bytes of one Set with the ids it holds, of the mean of several.
 * @param {string} json the ids, as a server sends them
 * @param {() => Promise<number>} heapUsed collects what nobody holds, and tells the bytes that are left
 */
export async function heapOf(json, heapUsed) {
  /** @type {(number: number) => object} Ids of its own: engines may keep equal texts once. */
  const build = (number) => {
    /** @type {string[]} */
    const ids = JSON.parse(json.replaceAll(/."(?=[,\]])/g, `${String.fromCharCode(FIRST_LETTER + number)}"`));
    return new Set(ids);
  };
  // The first one compiles what the others use.
  const built = [build(COPIES)];
  const before = await heapUsed();
  for (let copy = 0; copy < COPIES; copy++) built.push(build(copy));
  const bytes = ((await heapUsed()) - before) / COPIES;
  // They have to live until here.
  if (built.length !== COPIES + 1) throw new Error("one is missing");
  return bytes;
}
