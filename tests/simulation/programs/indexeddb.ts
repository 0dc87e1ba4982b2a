/**
 * IndexedDB at the level of the API that the package calls: one object store, whose transactions end as the program
 * says. Each transaction has one kind of request, makes all of them in the task that begins it, and is committed there:
 * else a page that is suspended would hold the lock.
 */
import type { Browser, Outcome, PageDocument } from "./browser.js";
import type { Written } from "./ledger.js";

type Handler = ((event: object) => void) | null;

/** An event target that also has handlers as properties. */
class Target {
  [handler: `on${string}`]: Handler | undefined;
  private readonly handlers = new Map<string, Handler[]>();

  addEventListener(type: string, handler: Handler): void {
    this.handlers.set(type, [...(this.handlers.get(type) ?? []), handler]);
  }

  emit(type: string): void {
    const event = { type, target: this, preventDefault: () => {}, stopPropagation: () => {} };
    this[`on${type}`]?.(event);
    for (const handler of this.handlers.get(type) ?? []) handler?.(event);
  }
}

class FakeRequest extends Target {
  result: unknown;
  error: unknown = null;
  transaction: unknown = null;
}

/** A range of strings. */
export class FakeKeyRange {
  constructor(
    readonly lower: string | undefined,
    readonly upper: string | undefined,
    readonly lowerOpen = false,
    readonly upperOpen = false,
  ) {}

  static bound(lower: string, upper: string, lowerOpen = false, upperOpen = false): FakeKeyRange {
    return new FakeKeyRange(lower, upper, lowerOpen, upperOpen);
  }

  static only(key: string): FakeKeyRange {
    return new FakeKeyRange(key, key);
  }

  includes(key: string): boolean {
    const { lower, upper } = this;
    const isAbove = lower === undefined || (this.lowerOpen ? key > lower : key >= lower);
    return isAbove && (upper === undefined || (this.upperOpen ? key < upper : key <= upper));
  }
}

/** How soon another attempt to open the database may follow while one is silent. */
const REOPEN_MS = 60_000;

export class FakeFactory {
  private readonly document: PageDocument;

  constructor(document: PageDocument) {
    this.document = document;
  }

  open(name: string, version?: number): FakeRequest {
    const { document } = this;
    const { browser } = document;
    browser.count();
    if (browser.world.indexedDb === "denied") throw new DOMException("denied", "SecurityError");
    const openedMs = browser.nowMs;
    if (browser.clockMs === 0 && document.openings.some((ms) => ms > openedMs - REOPEN_MS))
      browser.ledger.violated("a database is opened twice at once");
    document.openings.push(openedMs);
    document.openedTimes++;
    const request = new FakeRequest();
    const outcome = browser.draw();
    if (outcome.way !== "is silent")
      browser.after(outcome.way === "is late" ? outcome.ms : browser.random.below(3), document, () => {
        document.openings.splice(document.openings.indexOf(openedMs), 1);
        if (outcome.way === "fails") fail(request, errorOf("UnknownError", "broken"));
        else this.opened(request, name, version);
      });
    return request;
  }

  private opened(request: FakeRequest, name: string, version?: number): void {
    const connection = new DatabaseConnection(this.document, name);
    request.result = connection;
    if (version !== undefined && this.document.browser.rows.size === 0) request.emit("upgradeneeded");
    this.document.connections.add(connection);
    request.emit("success");
  }
}

/** Makes an error without a stack, which would take long. */
const errorOf = (name: string, message: string): object => ({ name, message });

function fail(request: FakeRequest, error: unknown): void {
  request.error = error;
  request.emit("error");
}

export class DatabaseConnection extends Target {
  readonly version = 1;
  readonly objectStoreNames = Object.assign(["rows"], { contains: () => true });
  readonly name: string;
  private readonly document: PageDocument;

  constructor(document: PageDocument, name: string) {
    super();
    [this.document, this.name] = [document, name];
  }

  createObjectStore(): void {}
  deleteObjectStore(): void {}

  close(): void {
    this.document.connections.delete(this);
  }

  /** The browser closes it. The document notices by its next call, or by an event. */
  lose(): void {
    this.close();
    if (this.document.browser.random.next() < 0.5)
      this.document.browser.after(0, this.document, () => this.emit("close"));
  }

  transaction(_: unknown, mode: string): FakeTransaction {
    this.document.browser.count();
    if (!this.document.connections.has(this)) throw new DOMException("the connection is closed", "InvalidStateError");
    this.document.transactions++;
    return new FakeTransaction(this.document, this, mode);
  }
}

interface Operation {
  readonly request: FakeRequest;
  readonly kind: "read" | "write";
  readonly run: () => unknown;
  readonly written?: Written;
}

export class FakeTransaction extends Target {
  error: unknown = null;
  private readonly document: PageDocument;
  private readonly browser: Browser;
  private readonly connection: DatabaseConnection;
  private readonly operations: Operation[] = [];
  private readonly outcome: Outcome;
  private readonly taskNumber: number;
  private isCommitted = false;
  private isOver = false;
  private done = 0;
  private readonly forget: () => void;

  constructor(
    document: PageDocument,
    connection: DatabaseConnection,
    readonly mode: string,
  ) {
    super();
    [this.document, this.browser, this.connection] = [document, document.browser, connection];
    const { browser } = this;
    this.outcome = browser.draw();
    this.taskNumber = browser.taskNumber;
    // A transaction that a page has committed may still be done when the page is gone.
    this.forget = document.onEnd(() => {
      if (!this.isOver && this.isCommitted && browser.survives()) this.apply();
    });
    const { outcome } = this;
    browser.after(outcome.way === "is late" ? outcome.ms : browser.random.below(3), document, () => this.end());
  }

  /** Checks that it is committed, and either reads or writes. */
  private check(): void {
    if (!this.isCommitted) this.browser.ledger.violated("a transaction is not committed in its task");
    if (new Set(this.operations.map(({ kind }) => kind)).size > 1)
      this.browser.ledger.violated("a transaction reads and writes");
    if (this.mode === "readwrite" && this.operations.some(({ kind }) => kind === "read"))
      this.browser.ledger.violated("a transaction that reads may write");
  }

  objectStore(): object {
    const { browser, document } = this;
    const { rows, ledger } = browser;
    const matches = (query: unknown) => (key: string) =>
      query instanceof FakeKeyRange ? query.includes(key) : query === undefined || query === null || key === query;
    const keys = (query: unknown) => [...rows.keys()].filter(matches(query)).sort();
    return {
      getAllKeys: (query: unknown) => this.request("read", () => (ledger.listed(document), keys(query))),
      getAll: (query: unknown) =>
        this.request("read", () => keys(query).map((key) => ledger.read(document, rows.get(key)))),
      get: (key: string) => this.request("read", () => ledger.read(document, rows.get(key))),
      put: (value: string, key: string) => {
        const written = ledger.issued(document, key, value);
        return this.request(
          "write",
          () => {
            rows.set(key, value);
            ledger.applied(written);
          },
          written,
        );
      },
      delete: (query: unknown) => this.request("write", () => keys(query).forEach((key) => rows.delete(key))),
    };
  }

  private request(kind: "read" | "write", run: () => unknown, written?: Written): FakeRequest {
    const { browser } = this;
    browser.count();
    if (browser.taskNumber !== this.taskNumber)
      browser.ledger.violated("a request is made after its transaction's task");
    if (this.isOver) throw new DOMException("not active", "TransactionInactiveError");
    const request = new FakeRequest();
    this.operations.push({ request, kind, run, ...(written && { written }) });
    return request;
  }

  commit(): void {
    this.isCommitted = true;
  }

  abort(): void {
    if (this.isOver) throw new DOMException("it has ended", "InvalidStateError");
    this.aborted(errorOf("AbortError", "aborted"));
  }

  private apply(): void {
    for (const { request, run } of this.operations) request.result = run();
  }

  private end(): void {
    const { outcome } = this;
    if (this.isOver) return;
    this.check();
    const writes = this.operations.some(({ written }) => written);
    if (outcome.way === "is silent") {
      this.isOver = true;
      if (outcome.isDone) this.apply();
    } else if (outcome.way === "fails") this.aborted(errorOf("UnknownError", "broken"));
    else if (outcome.way === "is full" && writes) this.aborted(errorOf("QuotaExceededError", "full"));
    else if (outcome.way === "fails though done") {
      this.apply();
      this.aborted(errorOf("UnknownError", "broken"));
    } else if (outcome.way === "loses the connection") {
      this.connection.lose();
      this.aborted(errorOf("AbortError", "lost"));
    } else this.complete();
  }

  /** Ends the requests so far. Those that their events make are done next. */
  private complete(): void {
    this.forget();
    const done = this.operations.splice(this.done);
    this.operations.push(...done);
    this.done = this.operations.length;
    for (const { request, run } of done) request.result = run();
    for (const { request } of done) request.emit("success");
    if (this.isOver) return;
    if (this.done < this.operations.length) {
      this.browser.after(0, this.document, () => this.complete());
      return;
    }
    this.isOver = true;
    this.browser.after(0, this.document, () => {
      for (const { written } of this.operations) this.browser.ledger.confirmed(written);
      this.emit("complete");
    });
  }

  private aborted(error: unknown): void {
    this.isOver = true;
    this.forget();
    this.error = error;
    for (const { request } of this.operations) fail(request, error);
    this.browser.after(0, this.document, () => this.emit("abort"));
  }
}
