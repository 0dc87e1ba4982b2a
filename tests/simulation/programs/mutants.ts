/** Small changes to the rules of storage, each of which a run of the programs finds: see storage.test.ts. */
export interface Mutant {
  /** The end of the file's path. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

const storage = (from: string, to: string): Mutant => ({ file: "storage/storage.ts", from, to });
const context = (from: string, to: string): Mutant => ({ file: "storage/context.ts", from, to });
const loader = (from: string, to: string): Mutant => ({ file: "storage/loader.ts", from, to });
const saver = (from: string, to: string): Mutant => ({ file: "storage/saver.ts", from, to });
const compaction = (from: string, to: string): Mutant => ({ file: "storage/compaction.ts", from, to });
const stash = (from: string, to: string): Mutant => ({ file: "storage/stash.ts", from, to });
const clear = (from: string, to: string): Mutant => ({ file: "storage/clear.ts", from, to });
const database = (from: string, to: string): Mutant => ({ file: "storage/indexeddb.ts", from, to });

const custom = (from: string, to: string): Mutant => ({ file: "storage/custom.ts", from, to });

/** By the rule that each of them breaks. */
export const mutants: Readonly<Record<string, Mutant>> = {
  // Load.
  "the stashes come after the keys": loader(
    `    const stashes = context.stash?.unread() ?? [];
    if (hasLoaded) this.mergeStashes(stashes);
    else this.firstStashes = stashes;
    const known = [...rows.keys()];
    // The first load reads what it lists, if the store can.
    const entries = hasLoaded || !store.entries ? undefined : await context.call(store.entries(prefixOf(name)));
    const listed = parseKeys(entries ? [...entries.keys()] : await context.call(store.keys(prefixOf(name))));`,
    `    const known = [...rows.keys()];
    // The first load reads what it lists, if the store can.
    const entries = hasLoaded || !store.entries ? undefined : await context.call(store.entries(prefixOf(name)));
    const listed = parseKeys(entries ? [...entries.keys()] : await context.call(store.keys(prefixOf(name))));
    const stashes = context.stash?.unread() ?? [];
    if (hasLoaded) this.mergeStashes(stashes);
    else this.firstStashes = stashes;`,
  ),
  "no load follows the first one by itself": loader(
    "this.cancelNext = context.timers.after(INTERVAL_MS, () => void this.load());",
    "",
  ),
  "a signal starts no load": storage("if (!isHidden()) void this.loader.load();", ""),
  "a row that is gone is not looked for": loader(
    "return values.every((value) => value !== undefined);",
    "return true;",
  ),
  "what was read for another generation is merged": loader(
    "      if (!context.isCurrent(generation)) return false;",
    "      if (context.isEnded()) return false;",
  ),
  "a stash of an older generation is merged": loader(
    "      if (generation < context.generation) removeLocal([key]);\n      else {",
    "      void generation;\n      void removeLocal;\n      {",
  ),
  "stashes are not read": stash("unread(): OtherStash[] {", "unread(): OtherStash[] {\n    return [];"),
  // Save.
  "a row counts as saved before it is": saver(
    "    if (!(await context.write(context.generation, { set }))) return;",
    "    for (const { mark } of rows) context.engine?.call((guard) => guard.saved(mark));\n    if (!(await context.write(context.generation, { set }))) return;",
  ),
  "no signal follows a save": saver("    context.writeSignal();", ""),
  "a row is written although its generation has ended": context(
    "    if (!this.isCurrent(generation)) return false;\n    await this.call(this.store.write(change));",
    "    await this.call(this.store.write(change));",
  ),
  "a signal is written without reading it": context(
    "    this.readSignal();\n    keys.writeGeneration",
    "    keys.writeGeneration",
  ),
  "a call of the store may be silent forever": context(
    'const cancel = this.timers.after(CALL_TIMEOUT_MS, () => reject(new Error("it does not respond")));',
    "const cancel = () => void CALL_TIMEOUT_MS;",
  ),
  "the signal is not read once the database is open": context(
    "    this.readSignal();\n    if (!this.isCurrent(generation)) return false;\n    await this.call(this.store.write(change));",
    "    await this.call(this.store.write(change));",
  ),
  "keys have no number": {
    file: "storage/keys.ts",
    from: "this.latest = Math.max(this.latest + 1, Math.floor(wallMs));",
    to: "this.latest = 1;",
  },
  "what failed is not repeated": {
    file: "storage/retry.ts",
    from: "this.cancel = this.timers.after(Math.min(FIRST_MS * 2 ** this.failures++, MAX_MS), this.run);",
    to: "this.failures++;",
  },
  "flush waits for the first load alone": storage(
    "this.loader.first.then(() => this.saver.flush())",
    "this.loader.first.then(() => void this.saver.flush())",
  ),
  // Hide.
  "a page that hides does not save": saver("if (rows.length > 0) await this.put(rows);", ""),
  "a page that hides saves a moment later": saver(
    "if (rows.length > 0) await this.put(rows);",
    "await Promise.resolve();\n    if (rows.length > 0) await this.put(rows);",
  ),
  "a page that hides writes no stash": saver(
    "if (opening || before === undefined || this.hiddenMark !== before) this.writeStash(true);",
    "",
  ),
  // Stashes.
  "a stash is removed as a save begins": saver(
    "    const keyed = rows.map(",
    "    context.stash?.remove();\n    const keyed = rows.map(",
  ),
  "a stash stays when all is saved": saver("    context.stash?.remove();", ""),
  "stashes of others stay": stash(
    "    for (const key of [...this.merged]) {",
    "    for (const key of [] as string[]) {",
  ),
  // Compact.
  "nothing is compacted": compaction("return small > MAX_SMALL_ROWS;", "return false;"),
  "compaction removes rows that it has not read": compaction(
    "const remove = [...chosen, ...this.garbage()];",
    "const remove = chosen.length > 0 ? [...rows.keys(), ...context.older] : this.garbage();",
  ),
  "compaction of an app's object removes first": custom(
    "    async write({ removeBelow, remove = [], set: rows = [] }) {\n",
    "    async write({ removeBelow, remove = [], set: rows = [] }) {\n      for (const key of remove) await storage.remove(key);\n",
  ),
  // The generation, and clears.
  "a new generation leaves the table": context("this.engine?.call((guard) => guard.reset(keeps));", ""),
  "the generation in listed keys is not learned": loader(
    "if (context.learn(highestGeneration([...listed, ...this.firstStashes]), this.keepsOwn)) this.saver.changed();",
    "",
  ),
  "a clear removes its own generation": clear(
    "write({ removeBelow: [prefix, below]",
    "write({ removeBelow: [prefix, `${below}\\uffff`]",
  ),
  "a clear writes no signal": clear(
    "for (const prefix of [keys.CLEAR, keys.SIGNAL])",
    "for (const prefix of [keys.CLEAR])",
  ),
  "a clear keeps the open guard's impressions": clear(
    "open()?.cleared(generation, keeps);",
    "open()?.cleared(generation, true);",
  ),
  "a clear does not go above what is known": clear(
    "1 + Math.max(keys.localGeneration(name), open()?.generation ?? 0)",
    "0",
  ),
  "a clear of a silent store does not end": clear(
    'rejectAfter(CALL_TIMEOUT_MS, "the storage", work)',
    "(void rejectAfter, work)",
  ),
  "an unfinished clear stays": clear("keys.namesUnder(keys.CLEAR).map(finish)", "[].map(finish)"),
  "pending ids are returned without reading the signal": {
    file: "guard/namespace.ts",
    from: "pending(limit?: number): string[] {\n    this.storage?.context.readSignal();",
    to: "pending(limit?: number): string[] {",
  },
  // IndexedDB.
  "a transaction is not committed": database("(transaction as Partial<IDBTransaction>).commit?.();", ""),
  "a read may write": database(
    `transact("readonly", (store) => {\n      const requests`,
    `transact("readwrite", (store) => {\n      const requests`,
  ),
  "a dead connection is used again": database("reconnect: () => disconnect(),", "reconnect: () => {},"),
  "the database is opened again while it is being opened": database(
    "if (opening && Math.abs(nowMs - opening.sinceMs) < REOPEN_MS) return opening.result;",
    "",
  ),
  // The end.
  "timers continue after close": context(
    "    this.isStopped = true;\n    this.timers.stop();",
    "    this.isStopped = true;",
  ),
};
