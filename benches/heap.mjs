/** What a Set of ids takes of the heap: plain JavaScript, for a process of its own with `--expose-gc`. */

const SETS = 20;

/**
 * Bytes of one Set with the ids it holds, of the mean of several.
 * @param {string} json the ids, as a server sends them
 */
export function heapOfSets(json) {
  const collect = /** @type {{ gc?: () => void }} */ (globalThis).gc;
  if (collect === undefined) throw new Error("run with --expose-gc");
  /** @returns {number} */
  const used = () => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  /** @type {() => Set<string>} */
  const build = () => {
    /** @type {string[]} */
    const ids = JSON.parse(json);
    return new Set(ids);
  };
  // The first one compiles what the others use.
  const sets = [build()];
  const before = used();
  for (let set = 0; set < SETS; set++) sets.push(build());
  const bytes = (used() - before) / SETS;
  // They have to live until here.
  if (sets.length !== SETS + 1) throw new Error("a Set is missing");
  return bytes;
}
