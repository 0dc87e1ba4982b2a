/**
 * What happened to ids in several tabs, and what a document may know of it: the oracle of programs that no single model
 * answers for, since the order in which a storage works is left open.
 *
 * An id belongs to one tab, which alone records it and takes it back. Numbers count what happens, in its order.
 */
import type { TabDocument } from "./tabs.js";

type Kind = "seen" | "unseen" | "none";

interface Begun {
  readonly document: TabDocument;
  readonly number: number;
}

interface Change extends Begun {
  readonly id: string;
  readonly kind: Kind;
  /** Clearings called up to then were known to its document. */
  readonly clearedUpTo: number;
  /** When the document was told that it is in storage; Infinity: not yet. */
  storedAt: number;
}

interface Clearing extends Begun {
  /** Infinity: it is under way. */
  endedAt: number;
}

/** What is known of a document. */
interface Knowledge {
  readonly openedAt: number;
  /** Clearings called up to then are known to it. */
  clearedUpTo: number;
  /** Whether it went on without its storage. */
  isLate: boolean;
}

export class History {
  private number = 0;
  private readonly changes: Change[] = [];
  private readonly clearings: Clearing[] = [];
  private readonly documents = new Map<TabDocument, Knowledge>();

  /** Counts on. */
  next(): number {
    return ++this.number;
  }

  /** A document begins to open. */
  open(document: TabDocument): void {
    const openedAt = this.next();
    const ended = this.clearings.filter(({ endedAt }) => endedAt < openedAt).map(({ number }) => number);
    const clearedUpTo = Math.max(0, ...ended);
    this.documents.set(document, { openedAt, clearedUpTo, isLate: false });
  }

  /** It has gone on without its storage. */
  setLate(document: TabDocument): void {
    this.knowledgeOf(document).isLate = true;
  }

  change(document: TabDocument, ids: readonly string[], kind: Kind): void {
    const { clearedUpTo } = this.knowledgeOf(document);
    for (const id of ids)
      this.changes.push({ number: this.next(), id, kind, document, clearedUpTo, storedAt: Infinity });
  }

  /** All that the document did up to then is in storage, and it knows all clearings that had ended. */
  acknowledge(document: TabDocument, number: number): void {
    const storedAt = this.next();
    for (const change of this.changes)
      if (change.document === document && change.number < number) change.storedAt = Math.min(change.storedAt, storedAt);
    const known = this.clearings.filter(({ endedAt }) => endedAt < number).map(({ number }) => number);
    const knowledge = this.knowledgeOf(document);
    knowledge.clearedUpTo = Math.max(knowledge.clearedUpTo, ...known);
  }

  /** Clears in a document. Returns what is to be called when it has ended. */
  clear(document: TabDocument): () => void {
    const clearing = { document, number: this.next(), endedAt: Infinity };
    this.clearings.push(clearing);
    this.knowledgeOf(document).clearedUpTo = clearing.number;
    return () => (clearing.endedAt = this.next());
  }

  /** In which states an id may be to a document. */
  statesOf(document: TabDocument, id: string): ReadonlySet<Kind> {
    const { openedAt, clearedUpTo, isLate } = this.knowledgeOf(document);
    const left = this.changes.filter((change) => change.id === id && change.number > clearedUpTo);
    const own = left.findLast((change) => change.document === document);
    const stored = left.findLast(({ storedAt }) => storedAt < openedAt);
    const base = own ?? stored;
    const states = new Set<Kind>([base?.kind ?? "none"]);
    if (!own) for (const { number, kind } of left) if (isLate || number > (stored?.number ?? 0)) states.add(kind);
    // What was cleared elsewhere may be gone here, too.
    if (isLate && !own) states.add("none");
    // Accepted: a document that is gone before a clearing elsewhere has ended does not write anew what came after it.
    if (!own && left.some((change) => this.clearings.some((clearing) => overlap(clearing, change)))) states.add("none");
    if (left.some(({ number }) => this.clearings.some((clearing) => clearing.number > number))) states.add("none");
    // Accepted: what a document does before it has heard of a clearing elsewhere goes, too.
    if (left.some((change) => this.isOfAnotherNumber(change))) states.add("none");
    // Accepted: a clearing that is under way takes a number above that of another one, and keeps what its document has
    // done since its call.
    for (const change of this.changes) if (change.id === id && this.isKept(change)) states.add(change.kind);
    return states;
  }

  private isOfAnotherNumber({ document, number, clearedUpTo }: Change): boolean {
    return this.clearings.some(
      (clearing) => clearing.document !== document && clearing.number < number && clearing.number > clearedUpTo,
    );
  }

  private isKept({ document, number }: Change): boolean {
    const own = this.clearings.filter((clearing) => clearing.document === document && clearing.number < number);
    return own.some((one) => this.clearings.some((other) => other.number > number && overlap(one, other)));
  }

  private knowledgeOf(document: TabDocument): Knowledge {
    const knowledge = this.documents.get(document);
    if (!knowledge) throw new Error("this document was not opened");
    return knowledge;
  }
}

/** Whether something began in another document while a clearing was under way. */
function overlap({ document, number, endedAt }: Clearing, begun: Begun): boolean {
  return begun.document !== document && number < begun.number && begun.number < endedAt;
}
