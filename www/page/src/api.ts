/** The demo's server, as the page talks to it: `www/server/handler.ts` lists the routes. */
import type { Snapshot } from "seenguard";

export interface Item {
  readonly id: string;
  readonly title: string;
  readonly url: string;
  /** Who published it, if that is not Wikipedia. */
  readonly publisher?: string;
  /** Only of a copy: the first item of its group that the server got, and how it knows. */
  readonly copyOf?: { readonly id: string; readonly title: string; readonly by: "address" | "text" };
}

/** All ids of an item: who has seen one of a group has seen the others. */
export function idsOf({ id, copyOf }: Item): readonly string[] {
  return copyOf === undefined ? [id] : [id, copyOf.id];
}

/** One page of the feed, as a server makes it that knows the stream alone, and the state that it was filtered against. */
export interface Page {
  readonly items: readonly Item[];
  /** Ids of items that another device of this person has shown, and no stream has brought yet. */
  readonly elsewhere: readonly string[];
  readonly snapshot: Snapshot;
}

/** One page of the small pool; `next` is where the next one begins. A degraded one was made without the store. */
export interface PoolPage {
  readonly items: readonly Item[];
  readonly snapshot?: Snapshot;
  readonly degraded?: true;
  readonly next: string | null;
}

export interface StreamControl {
  readonly running: boolean;
  readonly lagSeconds: number;
  readonly losesEvents: boolean;
  readonly replicaLags: boolean;
}

/** What the server does not know of its stream is not there. */
export interface Stream extends Partial<StreamControl> {
  readonly running: boolean;
  readonly accepted?: number;
  readonly waiting?: number;
  readonly lost?: number;
}

export interface Status {
  readonly stream: Stream;
  /** The snapshot's name. */
  readonly state: string;
  /** Only when it is not the state in the request. */
  readonly snapshot?: Snapshot;
}

/** Of the whole server. */
export interface ServerStatus {
  readonly kind: "memory" | "redis" | "kafka" | "flink";
  /** Unsupported actions, each with the reason. */
  readonly cannot: Readonly<Partial<Record<Condition, string>>>;
  /** Where Flink's own page is, if a job takes the impressions in. */
  readonly dashboard?: string;
}

/** The user's actions on the server. */
export type Condition = keyof StreamControl | "flush";

type Headers = Record<string, string>;

const TIMEOUT_MS = 10_000;
/** For a Flink job to end or to start. */
const CONTROL_TIMEOUT_MS = 120_000;

export class Api {
  /** Where impressions are delivered to. */
  readonly impressionsUrl: string;
  private readonly base: string;

  constructor(user: string) {
    this.base = `./api/users/${encodeURIComponent(user)}`;
    this.impressionsUrl = `${this.base}/impressions`;
  }

  /** `headers` of these three: those of the guard. */
  page(turn: number, size: number, headers: Headers): Promise<Page> {
    return this.ask(`feed?turn=${String(turn)}&size=${String(size)}`, { headers });
  }

  pool(cursor: string, size: number, headers: Headers): Promise<PoolPage> {
    return this.ask(`pool?cursor=${cursor}&size=${String(size)}`, { headers });
  }

  status(state: string | undefined, headers: Headers): Promise<Status> {
    return this.ask(state === undefined ? "status" : `status?state=${state}`, { headers });
  }

  control(change: Partial<StreamControl>): Promise<Stream> {
    return this.ask("stream", { method: "PUT", signal: AbortSignal.timeout(CONTROL_TIMEOUT_MS), ...json(change) });
  }

  /** The person wants to be forgotten: by the server now, by each device at its next answer. */
  async deleteHistory(): Promise<void> {
    await this.ask("history", { method: "DELETE" });
  }

  /** The server's store loses what it knows of this reader. */
  async flush(): Promise<void> {
    await this.ask("flush", { method: "POST" });
  }

  private ask<T>(path: string, init?: RequestInit): Promise<T> {
    return ask(`${this.base}/${path}`, init);
  }
}

export function fetchServerStatus(): Promise<ServerStatus> {
  return ask("./api/status");
}

export function fetchItem(id: string): Promise<Item> {
  return ask(`./api/items/${encodeURIComponent(id)}`);
}

async function ask<T>(path: string, init: RequestInit = {}): Promise<T> {
  const response = await fetch(path, { signal: AbortSignal.timeout(TIMEOUT_MS), ...init });
  if (!response.ok) throw new Error(await reasonOf(response));
  return (response.status === 204 ? undefined : await response.json()) as T;
}

function json(body: unknown): Pick<RequestInit, "headers" | "body"> {
  return { headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
}

async function reasonOf(response: Response): Promise<string> {
  try {
    const { error } = (await response.json()) as { error: { message: string } };
    return error.message;
  } catch {
    return `the server answered ${String(response.status)}`;
  }
}
