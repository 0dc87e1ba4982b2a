/**
 * One start from nothing, in a process or a page that has not seen the package before: plain JavaScript, since Node and Chromium load this very file.
 * Times are milliseconds.
 */

/**
 * From the import to the first filtered page.
 * @param {string} entry the package's entry, as an address
 * @param {string} message what the server sent: a snapshot as JSON
 * @param {string} ids the first page's ids as JSON
 * @param {"none" | undefined} storage
 * @returns {Promise<Record<string, number>>}
 */
export async function startGuard(entry, message, ids, storage) {
  const spent = watch();
  const begun = performance.now();
  const { SeenGuard } = /** @type {typeof import("seenguard")} */ (await import(/* @vite-ignore */ entry));
  const imported = performance.now();
  const guard = await SeenGuard.open({ namespace: "bench:cold", ...(storage === undefined ? {} : { storage }) });
  const opened = performance.now();
  const { decode, compile, database } = spent();
  /** @type {import("seenguard").Snapshot} */
  const snapshot = JSON.parse(message);
  const { applied } = guard.apply(snapshot);
  const taken = performance.now();
  /** @type {string[]} */
  const page = JSON.parse(ids);
  const fresh = guard.filter(page);
  const filtered = performance.now();
  if (!applied || fresh.length === 0 || guard.stats().engine !== "wasm") throw new Error("the guard did not start");
  return {
    import: imported - begun,
    open: opened - imported,
    ready: opened - begun,
    decode,
    compile,
    ...(database > 0 ? { database } : {}),
    apply: taken - opened,
    filter: filtered - taken,
    all: filtered - begun,
  };
}

/**
 * Watches what `open` spends on decoding the inlined module, on compiling and starting it, and on opening its database. Returns how to ask for
 * the milliseconds, which also stops watching.
 */
function watch() {
  const spent = { decode: 0, compile: 0, database: 0 };
  const unwatchDatabase = watchDatabase((milliseconds) => {
    spent.database ||= milliseconds;
  });
  const { compile, instantiate } = WebAssembly;
  /** @template T @param {number} begun @param {T} result */
  const compiled = (begun, result) => {
    spent.compile += performance.now() - begun;
    return result;
  };
  // What decodes is a module of its own: it begins with compiling that and ends with the call that compiles the other one.
  let decodingSince = Infinity;
  const { Module } = WebAssembly;
  WebAssembly.Module = new Proxy(Module, {
    construct(target, /** @type {ConstructorParameters<typeof Module>} */ args) {
      decodingSince = performance.now();
      return new target(...args);
    },
  });
  WebAssembly.compile = async (...args) => {
    spent.decode = Math.max(0, performance.now() - decodingSince);
    const begun = performance.now();
    return compiled(begun, await compile(...args));
  };
  // @ts-expect-error: of its two forms the package uses the one that takes a compiled module.
  WebAssembly.instantiate = async (/** @type {WebAssembly.Module} */ module, imports) => {
    const begun = performance.now();
    return compiled(begun, await instantiate(module, imports));
  };
  return () => {
    Object.assign(WebAssembly, { compile, instantiate, Module });
    unwatchDatabase();
    return spent;
  };
}

/**
 * Tells how long it takes to open a database. Returns how to stop that.
 * @param {(milliseconds: number) => void} tell
 */
function watchDatabase(tell) {
  if (typeof indexedDB === "undefined") return () => undefined;
  const open = indexedDB.open.bind(indexedDB);
  indexedDB.open = (name, version) => {
    const begun = performance.now();
    const request = open(name, version);
    request.addEventListener("success", () => tell(performance.now() - begun));
    return request;
  };
  return () => {
    indexedDB.open = open;
  };
}

/**
 * The same for a Set of the ids.
 * @param {string} message the ids that were seen, as JSON
 * @param {string} ids the first page's ids as JSON
 * @returns {Record<string, number>}
 */
export function startSet(message, ids) {
  const begun = performance.now();
  /** @type {string[]} */
  const list = JSON.parse(message);
  const seen = new Set(list);
  const built = performance.now();
  /** @type {string[]} */
  const page = JSON.parse(ids);
  const fresh = page.filter((id) => !seen.has(id));
  const filtered = performance.now();
  if (fresh.length === 0) throw new Error("nothing was fresh");
  return { build: built - begun, filter: filtered - built, all: filtered - begun };
}
