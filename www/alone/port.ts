/**
 * `fetch` over a MessagePort: a page sends requests, and a worker responds like a server.
 *
 *     page ──► worker   request, then a pull for each chunk of the body that is read; abort; ping
 *     worker ──► page   head, chunk, end, or failed; pong
 *
 * A worker that has died does not respond. So the page pings while requests are in progress; when several pings in a row
 * have had no response, all requests reject like a `fetch` without a network, and the next one connects again.
 */

export type Handler = (request: Request) => Promise<Response>;

type Bytes = Uint8Array<ArrayBuffer>;

interface RequestMessage {
  readonly kind: "request";
  readonly id: number;
  readonly url: string;
  readonly method: string;
  readonly headers: [string, string][];
  readonly body: ArrayBuffer | undefined;
}
type Question = RequestMessage | { readonly kind: "pull" | "abort"; readonly id: number } | { readonly kind: "ping" };

interface Head {
  readonly kind: "head";
  readonly id: number;
  readonly status: number;
  readonly statusText: string;
  readonly headers: [string, string][];
  readonly hasBody: boolean;
}
type BodyPart =
  | { readonly kind: "chunk"; readonly id: number; readonly bytes: Bytes }
  | { readonly kind: "end"; readonly id: number };
interface Failure {
  readonly kind: "failed";
  readonly id: number;
  readonly reason: string;
}
type Answer = Head | BodyPart | Failure;

/** After how many pings without a response a worker counts as dead: `startPings` before its first response, `pings` later. */
export interface Patience {
  readonly intervalMs: number;
  readonly pings: number;
  readonly startPings: number;
}
const PATIENCE: Patience = { intervalMs: 1000, pings: 5, startPings: 30 };

/**
 * The `fetch` of a page in `directory`: requests below its `api/` go over the port that `connect` returns, others over the
 * network.
 */
export function fetchOver(connect: () => MessagePort, directory: URL, patience: Patience = PATIENCE): typeof fetch {
  const { href: api } = new URL("api/", directory);
  const overNetwork = globalThis.fetch.bind(globalThis);
  let connection: Connection | undefined;
  return async (input, init) => {
    const url = input instanceof Request ? input.url : new URL(input, directory).href;
    if (!url.startsWith(api)) return overNetwork(input, init);
    if (connection?.isOpen !== true) connection = new Connection(connect(), patience);
    return connection.fetch(new Request(input instanceof Request ? input : url, init));
  };
}

interface Waiting {
  readonly resolve: (answer: Answer) => void;
  readonly reject: (reason: unknown) => void;
}

/** The page's end of a port. */
class Connection {
  isOpen = true;
  /** Each request waits for one message at a time. */
  private readonly waiting = new Map<number, Waiting>();
  private lastId = 0;
  private hasResponded = false;
  private unanswered = 0;
  private timer: ReturnType<typeof setInterval> | undefined;

  constructor(
    private readonly port: MessagePort,
    private readonly patience: Patience,
  ) {
    port.onmessage = ({ data }: MessageEvent<Answer | { readonly kind: "pong" }>) => {
      this.hasResponded = true;
      this.unanswered = 0;
      if (data.kind !== "pong") this.settle(data.id, ({ resolve }) => resolve(data));
    };
  }

  async fetch(request: Request): Promise<Response> {
    const { url, method, signal } = request;
    signal.throwIfAborted();
    const id = ++this.lastId;
    const bytes = await request.arrayBuffer();
    signal.throwIfAborted();
    let stream: ReadableStreamDefaultController<Bytes> | undefined;
    const abort = (): void => {
      this.send({ kind: "abort", id });
      this.settle(id, ({ reject }) => reject(signal.reason));
      stream?.error(signal.reason);
    };
    const finished = (): void => signal.removeEventListener("abort", abort);
    signal.addEventListener("abort", abort);
    try {
      const body = bytes.byteLength > 0 ? bytes : undefined;
      const head = await this.ask({ kind: "request", id, url, method, headers: [...request.headers], body });
      if (head.kind !== "head") throw networkError(head);
      if (!head.hasBody) finished();
      return new Response(head.hasBody ? this.bodyOf(id, (controller) => (stream = controller), finished) : null, head);
    } catch (error) {
      finished();
      throw error;
    }
  }

  /** The response's body, which requests a chunk when one is read. */
  private bodyOf(
    id: number,
    start: (controller: ReadableStreamDefaultController<Bytes>) => void,
    finished: () => void,
  ): ReadableStream<Bytes> {
    const pull = async (controller: ReadableStreamDefaultController<Bytes>): Promise<void> => {
      const part = await this.ask({ kind: "pull", id });
      if (part.kind === "chunk") {
        controller.enqueue(part.bytes);
        return;
      }
      finished();
      if (part.kind === "end") controller.close();
      else throw networkError(part);
    };
    const cancel = (): void => {
      finished();
      this.send({ kind: "abort", id });
    };
    return new ReadableStream({ start, pull, cancel }, { highWaterMark: 0 });
  }

  private ask(question: Exclude<Question, { kind: "ping" }>): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (!this.isOpen) throw networkError();
      this.waiting.set(question.id, { resolve, reject });
      this.send(question);
      this.timer ??= setInterval(() => this.ping(), this.patience.intervalMs);
    });
  }

  private settle(id: number, how: (waiting: Waiting) => void): void {
    const waiting = this.waiting.get(id);
    this.waiting.delete(id);
    if (waiting !== undefined) how(waiting);
  }

  private send(question: Question): void {
    this.port.postMessage(question);
  }

  /** Pings are counted, not timed: a page in the background, or a device that slept, pings late. */
  private ping(): void {
    const { pings, startPings } = this.patience;
    if (this.waiting.size === 0) this.stopPinging();
    else if (this.unanswered >= (this.hasResponded ? pings : startPings)) this.close();
    else {
      this.unanswered += 1;
      this.send({ kind: "ping" });
    }
  }

  private stopPinging(): void {
    clearInterval(this.timer);
    this.timer = undefined;
    this.unanswered = 0;
  }

  private close(): void {
    this.isOpen = false;
    this.stopPinging();
    for (const id of [...this.waiting.keys()]) this.settle(id, ({ reject }) => reject(networkError()));
    this.port.close();
  }
}

/** The error with which `fetch` rejects without a network. */
function networkError(answer?: Answer): TypeError {
  return new TypeError(answer?.kind === "failed" ? answer.reason : "the worker does not respond");
}

/** Responds to the requests of a port by `handler`. */
export function serveOver(port: MessagePort, handler: Handler): void {
  const exchanges = new Map<number, Exchange>();
  const send = (answer: Answer): void => {
    port.postMessage(answer);
    if (answer.kind === "end" || answer.kind === "failed" || (answer.kind === "head" && !answer.hasBody))
      exchanges.delete(answer.id);
  };
  port.onmessage = ({ data }: MessageEvent<Question>) => {
    if (data.kind === "ping") {
      port.postMessage({ kind: "pong" });
      return;
    }
    if (data.kind === "request") exchanges.set(data.id, new Exchange(data));
    const exchange = exchanges.get(data.id);
    if (data.kind === "request") void exchange?.begin(handler).then(send);
    if (data.kind === "pull") void exchange?.read().then(send);
    if (data.kind === "abort") {
      exchange?.abort();
      exchanges.delete(data.id);
    }
  };
}

/** One request and its response, in the worker. */
class Exchange {
  private readonly aborting = new AbortController();
  private body: ReadableStreamDefaultReader<Bytes> | undefined;

  constructor(private readonly message: RequestMessage) {}

  async begin(handler: Handler): Promise<Answer> {
    const { id, url, method, headers, body = null } = this.message;
    const { signal } = this.aborting;
    try {
      const response = await handler(new Request(url, { method, headers, body, signal }));
      this.body = response.body?.getReader();
      if (signal.aborted) this.abort();
      const { status, statusText } = response;
      return { kind: "head", id, status, statusText, headers: [...response.headers], hasBody: this.body !== undefined };
    } catch (error) {
      return { kind: "failed", id, reason: String(error) };
    }
  }

  async read(): Promise<Answer> {
    const { id } = this.message;
    try {
      const part = await this.body?.read();
      return part?.value === undefined ? { kind: "end", id } : { kind: "chunk", id, bytes: part.value };
    } catch (error) {
      return { kind: "failed", id, reason: String(error) };
    }
  }

  abort(): void {
    this.aborting.abort();
    this.body?.cancel().catch(() => undefined); // one that has failed is over
  }
}
