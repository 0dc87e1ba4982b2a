/**
 * The oracle: a record of what the documents did and what the *storage* saw of it. It knows no rule of the package but
 * the names of its keys, and that a row contains the strings of its undelivered ids.
 *
 * The ids of a document are its own, so its changes of one id have an order. A row that storage has completed has, of
 * each id in it, the change that was the latest as it was written, or that its writer had read before.
 */
/** The parts of a document that the oracle reads. */
export interface Tab {
  readonly number: number;
  readonly engines: number;
  readonly hiddenAtMs: number;
  readonly mayList: boolean;
  readonly browser: { readonly nowMs: number };
}

export type Kind = "seen" | "unseen";

interface Change {
  readonly kind: Kind;
  /** Counts everything that happens. */
  readonly order: number;
  readonly document: Tab;
  /** Which engine of its document recorded it. */
  readonly engine: number;
  /** Its document knew of all clears up to then. */
  readonly knows: number;
}

interface Clear {
  readonly order: number;
  /** Infinity: no signal reports it. */
  readonly generation: number;
  readonly document: Tab;
  /** When it resolved; Infinity: it continues, or it was not finished. */
  endOrder: number;
}

/** A value on its way into storage: the number of the change of each id in it. */
export interface Written {
  readonly document: Tab;
  readonly generation: number;
  readonly contents: ReadonlyMap<string, number>;
  readonly isStash: boolean;
  isApplied: boolean;
  isConfirmed: boolean;
}

const KEY = /^seenguard\/home\/([0-9a-z]+)\/(\w)(?:\/|$)/;
const SIGNAL = "seenguard-signal/home";
/** Longer than anything waits for a storage. */
export const PATIENCE_MS = 30_000;
const ID = /id-\d+-\d+\./g;

export const generationOf = (key: string): number => parseInt(KEY.exec(key)?.[1] ?? "", 36) || 0;
export const kindOf = (key: string): string | undefined => KEY.exec(key)?.[2];

/** The ids that a row in base64 contains as strings. */
export function idsIn(encoded: string): string[] {
  return Buffer.from(encoded, "base64").toString("latin1").match(ID) ?? [];
}

export class Ledger {
  readonly violations: string[] = [];
  /** The changes of each id, in their order. */
  readonly changes = new Map<string, Change[]>();
  readonly clears: Clear[] = [];
  /** Whether all tabs read one localStorage that nobody but the package has changed: it carries each clear. */
  hasSignals = true;
  /** Whether a custom store has returned a wrong value: none of its values is sure then. */
  hasLied = false;
  private areStashesSure = true;
  private order = 0;
  private readonly written: Written[] = [];
  /** What storage has: of each id and generation the number of its latest change. */
  private readonly durable = new Map<string, Map<number, number>>();
  /** What a document's engine has read of others. */
  private readonly known = new Map<string, number>();
  private readonly delivered = new Set<string>();
  private readonly keys = new Map<string, string>();
  private readonly knowsSince = new Map<Tab, number>();
  /** The highest generation under which a document has written, or which it has read in localStorage. */
  private readonly generations = new Map<Tab, number>();
  /** When a document has read a higher one in localStorage. */
  private readonly readHigherAt = new Map<Tab, number>();
  private readonly stashes = new Map<string, Written>();

  next(): number {
    return ++this.order;
  }

  violated(what: string): void {
    if (this.violations.length < 5) this.violations.push(what);
  }

  /** Throws what was violated. */
  assert(): void {
    if (this.violations.length > 0) throw new Error(this.violations.join("; "));
  }

  change(document: Tab, id: string, kind: Kind): void {
    const changes = this.changes.get(id) ?? [];
    changes.push({
      kind,
      order: this.next(),
      document,
      engine: document.engines,
      knows: this.knowsSince.get(document) ?? 0,
    });
    this.changes.set(id, changes);
  }

  /**
   * A document has begun a clear, which has this generation. Returns what to call when it resolves. Without a signal a
   * document that does not know an earlier clear learns it by then.
   */
  clear(document: Tab, generation: number): () => void {
    const knewAll = this.hasSignals || this.clears.every(({ order }) => order <= (this.knowsSince.get(document) ?? 0));
    const clear = { order: this.next(), generation, document, endOrder: Infinity };
    this.clears.push(clear);
    if (knewAll) this.knowsSince.set(document, clear.order);
    return () => {
      clear.endOrder = this.next();
      this.knowsSince.set(document, Math.max(clear.order, this.knowsSince.get(document) ?? 0));
    };
  }

  /** An engine begins that knows all clears by its first listing, or no clear. */
  begin(document: Tab, knowsAll: boolean): void {
    this.knowsSince.set(document, knowsAll ? this.order : 0);
  }

  /**
   * A document reads a generation in localStorage, in the signal or a stash. Where an app has emptied it or it was full,
   * this may be later than any listing, or come without one: it is unknown whether what the document has is older than
   * the clear, so it is dropped.
   */
  private readGeneration(document: Tab, generation: number): void {
    if (!this.noteGeneration(document, generation) || this.hasSignals) return;
    this.readHigherAt.set(document, this.next());
  }

  /** Returns whether it is higher than those before. */
  private noteGeneration(document: Tab, generation: number): boolean {
    if (generation <= (this.generations.get(document) ?? 0)) return false;
    this.generations.set(document, generation);
    return true;
  }

  /** Whether a document has read another generation after its latest change of an id. */
  isDropped(document: Tab, id: string): boolean {
    return (this.changes.get(id)?.at(-1)?.order ?? 0) < (this.readHigherAt.get(document) ?? 0);
  }

  /** The number of an id's latest change that a document's row of it can have. */
  private versionFor(document: Tab, id: string): number {
    const changes = this.changes.get(id) ?? [];
    const last = changes.at(-1);
    if (last?.document === document && last.engine === document.engines) return changes.length;
    return this.known.get(this.nameFor(document, id)) ?? 1;
  }

  private nameFor(document: Tab, id: string): string {
    return `${String(document.number)} ${String(document.engines)} ${id}`;
  }

  /** A document has begun to write a value. */
  issued(document: Tab, key: string, text: string): Written {
    const generation = generationOf(key);
    const isStash = kindOf(key) === "s";
    const isRow = kindOf(key) === "r" || isStash;
    const contents = new Map((isRow ? idsIn(text) : []).map((id) => [id, this.versionFor(document, id)]));
    const written: Written = { document, generation, contents, isStash, isApplied: false, isConfirmed: false };
    this.written.push(written);
    this.noteGeneration(document, generation);
    this.checkKey(key, text, isRow);
    // The row of a clear has nothing in it.
    if (this.hasSignals && text !== "") this.checkGeneration(key, written);
    return written;
  }

  private checkKey(key: string, text: string, isRow: boolean): void {
    if (kindOf(key) === undefined && key.startsWith("seenguard/home/")) this.violated(`the key ${key} is not known`);
    if (isRow && (this.keys.get(key) ?? text) !== text) this.violated(`the key ${key} has two values`);
    this.keys.set(key, text);
  }

  private checkGeneration(key: string, { generation, contents }: Written): void {
    const newest = Math.max(0, ...this.clears.map((clear) => clear.generation));
    if (generation < newest) this.violated(`${key} is written although generation ${newest.toString(36)} is known`);
    for (const id of contents.keys())
      if (this.wasCleared(id, generation)) this.violated(`${id} was cleared, and is written to ${key}`);
  }

  /** Whether a clear of at most this generation was called after the last change of the id. */
  wasCleared(id: string, generation = Infinity): boolean {
    const last = this.changes.get(id)?.at(-1)?.order ?? 0;
    return this.clears.some((clear) => clear.order > last && clear.generation <= generation);
  }

  /** Storage has completed it. */
  applied(written: Written): void {
    written.isApplied = true;
    if (written.isStash && !this.areStashesSure) return;
    for (const [id, version] of written.contents) {
      const versions = this.durable.get(id) ?? new Map<number, number>();
      versions.set(written.generation, Math.max(version, versions.get(written.generation) ?? 0));
      this.durable.set(id, versions);
    }
  }

  confirmed(written: Written | undefined): void {
    if (written) written.isConfirmed = true;
  }

  read(document: Tab, text: string | undefined): string | undefined {
    for (const id of idsIn(text ?? "")) {
      const stored = Math.max(1, ...(this.durable.get(id)?.values() ?? []));
      const name = this.nameFor(document, id);
      this.known.set(name, Math.max(this.known.get(name) ?? 0, stored));
    }
    return text;
  }

  readLocal(document: Tab, key: string, value: string | undefined): void {
    if (key === SIGNAL) this.signalled(document, key, value);
    else this.read(document, value);
    if (kindOf(key) === "s" && value !== undefined) this.readGeneration(document, generationOf(key));
  }

  /** A document reads the signal. It knows of all clears if none is later. */
  signalled(document: Tab, key: string, value: string | null | undefined): void {
    const known = parseInt(value ?? "", 36) || 0;
    const isLatest = this.clears.every(({ generation }) => generation <= known);
    if (key === SIGNAL && isLatest) this.knowsSince.set(document, this.order);
    if (key === SIGNAL) this.readGeneration(document, known);
  }

  writeLocal(document: Tab, key: string, value: string): void {
    if (key === SIGNAL) {
      const former = parseInt(this.keys.get(key) ?? "0", 36);
      if (this.hasSignals && parseInt(value, 36) < former) this.violated("an older generation replaces the signal's");
      this.keys.set(key, value);
      this.noteGeneration(document, parseInt(value, 36));
    }
    if (kindOf(key) === undefined) return;
    const written = this.issued(document, key, value);
    this.applied(written);
    this.stashes.set(key, written);
  }

  /** localStorage is emptied or full: what only a stash has may be lost, and a clear may leave no signal. */
  doubtLocal(): void {
    this.hasSignals = false;
    this.areStashesSure = false;
    this.durable.clear();
    if (this.hasLied) return;
    for (const written of this.written) if (!written.isStash && written.isApplied) this.applied(written);
  }

  /** A custom store lied: its values are not sure from now on. */
  lied(): void {
    this.hasLied = true;
    this.durable.clear();
  }

  /** A document lists the keys of IndexedDB. */
  listed({ browser, hiddenAtMs, mayList }: Tab): void {
    if (hiddenAtMs < browser.nowMs - PATIENCE_MS && !mayList) this.violated("a hidden tab loads");
  }

  /** A request to the server. */
  sent(_: Tab, body: string): void {
    for (const id of body.match(ID) ?? []) {
      this.delivered.add(id);
      if (this.hasSignals && this.wasCleared(id)) this.violated(`${id} was cleared, and is sent`);
    }
  }

  /** Checks the ids that a guard returns as pending. */
  returned(ids: readonly string[]): void {
    for (const id of ids)
      if (this.hasSignals && this.wasCleared(id)) this.violated(`${id} was cleared, and is returned`);
  }

  /**
   * The ids of a document whose latest change is not confirmed, and that it must not lose: no clear came since, and
   * it knew of all clears when it made the change, and it has read no other one in localStorage. Without a signal, what
   * is changed while another document clears may be cleared, too.
   */
  unsavedOf(document: Tab): string[] {
    return [...this.changes].flatMap(([id, changes]) => {
      const last = changes.at(-1);
      if (last?.document !== document || last.engine !== document.engines || this.delivered.has(id)) return [];
      if (this.clears.some(({ order }) => order > last.knows) || this.isDropped(document, id)) return [];
      const mayClear = (clear: Clear) => clear.document !== document && clear.endOrder > last.order;
      if (!this.hasSignals && this.clears.some(mayClear)) return [];
      return this.isWritten(document, id, 0, true) ? [] : [id];
    });
  }

  /** How many values were written. */
  get writes(): number {
    return this.written.length;
  }

  /** Whether a document has written an id's latest change to the store, in a write after the first ones. */
  isWritten(document: Tab, id: string, after: number, isConfirmed = false): boolean {
    const version = this.changes.get(id)?.length ?? 0;
    return this.written
      .slice(after)
      .some(
        (written) =>
          written.document === document &&
          !written.isStash &&
          (written.isConfirmed || !isConfirmed) &&
          (written.contents.get(id) ?? 0) >= version,
      );
  }

  /** Whether a stash that is there has an id's latest change. */
  isStashed(local: ReadonlyMap<string, string>, id: string): boolean {
    const version = this.changes.get(id)?.length ?? 0;
    return [...this.stashes].some(([key, { contents }]) => local.has(key) && (contents.get(id) ?? 0) >= version);
  }

  /** The states of an id from a change on. */
  statesFrom(id: string, version: number): ReadonlySet<Kind> {
    return new Set(
      this.changes
        .get(id)
        ?.slice(version - 1)
        .map(({ kind }) => kind),
    );
  }

  /** What storage has in a generation: the number of the latest change of each id. */
  durableIn(generation: number): Map<string, number> {
    const found = new Map<string, number>();
    for (const [id, versions] of this.durable) {
      const version = versions.get(generation);
      if (version !== undefined) found.set(id, version);
    }
    return found;
  }
}
