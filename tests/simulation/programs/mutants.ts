/** Small changes to the rules of storage, each of which a run of the programs finds: `run-mutants.mjs` tries them. */
export interface Mutant {
  /** The end of the file's path. */
  readonly file: string;
  readonly from: string;
  readonly to: string;
}

const storage = (from: string, to: string): Mutant => ({ file: "storage/storage.ts", from, to });
const stash = (from: string, to: string): Mutant => ({ file: "storage/stash.ts", from, to });
const clear = (from: string, to: string): Mutant => ({ file: "storage/clear.ts", from, to });
const database = (from: string, to: string): Mutant => ({ file: "storage/indexeddb.ts", from, to });

const custom = (from: string, to: string): Mutant => ({ file: "storage/custom.ts", from, to });

/** By the rule that each of them breaks. */
export const mutants: Readonly<Record<string, Mutant>> = {
  // Load.
  "the stashes come after the keys": storage(
    `    const stashes = this.stash?.unread() ?? [];
    if (hasLoaded) this.mergeStashes(stashes);
    else this.firstStashes = stashes;
    const known = [...this.rows.keys()];
    const listed = keys.parseKeys(await this.call(this.store.keys(keys.prefixOf(this.name))));`,
    `    const known = [...this.rows.keys()];
    const listed = keys.parseKeys(await this.call(this.store.keys(keys.prefixOf(this.name))));
    const stashes = this.stash?.unread() ?? [];
    if (hasLoaded) this.mergeStashes(stashes);
    else this.firstStashes = stashes;`,
  ),
  "no load follows the first one by itself": storage(
    "this.cancelNextLoad = this.timers.after(LOAD_INTERVAL_MS, () => void this.load());",
    "",
  ),
  "a signal is no reason to load": storage("if (!isHidden()) void this.load();", ""),
  "a row that is gone is not looked for": storage("return texts.every((text) => text !== undefined);", "return true;"),
  "what was read for another generation is merged": storage(
    "if (!this.isCurrent(generation)) return this.isEnded();",
    "if (this.isEnded()) return true;",
  ),
  "stashes are not read": stash("unread(): OtherStash[] {", "unread(): OtherStash[] {\n    return [];"),
  // Save.
  "a row counts as saved before it is": storage(
    "    if (!(await this.write(generation, { set: [[key, text]] }))) return;",
    "    this.engine?.call((guard) => guard.saved(mark));\n    if (!(await this.write(generation, { set: [[key, text]] }))) return;",
  ),
  "no signal follows a save": storage("    keys.writeGeneration(keys.SIGNAL + this.name, this.generation);", ""),
  "the signal is not read once the database is open": storage(
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
    from: "this.cancel = this.timers.after(Math.min(FIRST_MS * 2 ** this.failures++, LAST_MS), this.run);",
    to: "this.failures++;",
  },
  "flush waits for the first load alone": storage(
    "this.firstLoad.then(() => this.save(this.engine?.classes.Due.All))",
    "this.firstLoad.then(() => void this.save(this.engine?.classes.Due.All))",
  ),
  // Hide.
  "a page that hides does not save": storage("      writes.push(this.put(row));", "      void row;"),
  "a page that hides saves a moment later": storage(
    "      writes.push(this.put(row));",
    "      writes.push(Promise.resolve(row).then((later) => this.put(later)));",
  ),
  "a page that hides writes no stash": storage("if (writes.length > 0 || isFirst) this.writeStash(true);", ""),
  // Stashes.
  "a stash is removed although something of it is unsaved": stash(
    "if (engine.call((guard) => guard.hasUnsaved(text)) === false)",
    "if (engine.call((guard) => guard.hasUnsaved(text)) !== undefined)",
  ),
  "a stash is removed as a save begins": storage(
    "    const key = this.newKey();",
    "    this.stash?.remove();\n    const key = this.newKey();",
  ),
  "a stash stays when all is saved": storage("    this.stash?.remove();\n    if (this.engine)", "    if (this.engine)"),
  "stashes of others stay": stash(
    "    for (const key of [...this.merged]) {",
    "    for (const key of [] as string[]) {",
  ),
  // Compact.
  "nothing is compacted": {
    file: "storage/compaction.ts",
    from: "return small > MAX_SMALL_ROWS;",
    to: "return false;",
  },
  "compaction removes rows that it has not read": storage(
    "const remove = [...chosen, ...damaged, ...this.older];",
    "const remove = chosen.length > 0 ? [...this.rows.keys(), ...this.older] : [...damaged, ...this.older];",
  ),
  "compaction of an app's object removes first": custom(
    "    async write({ removeBelow, remove = [], set = [] }) {\n",
    "    async write({ removeBelow, remove = [], set = [] }) {\n      for (const key of remove) await storage.remove(key);\n",
  ),
  // The generation, and clears.
  "a new generation leaves the table": storage("this.engine?.call((guard) => guard.reset(keeps));", ""),
  "the generation in listed keys is not learned": storage(
    "this.learn(keys.highestGeneration([...listed, ...this.firstStashes]), this.keepsOwn);",
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
    "open()?.cleared(generation, round > 0);",
    "open()?.cleared(generation, true);",
  ),
  "a clear does not go above what is known": clear(
    "1 + Math.max(keys.localGeneration(name), open()?.generation ?? 0)",
    "0",
  ),
  "an unfinished clear stays": clear("keys.namesUnder(keys.CLEAR).map(finish)", "[].map(finish)"),
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
  "timers go on after close": storage(
    "    this.isStopped = true;\n    this.timers.stop();",
    "    this.isStopped = true;",
  ),
};
