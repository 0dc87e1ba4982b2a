/** The page's client of the demo's server: `www/server/handler.ts` lists the routes. */
import type { Snapshot } from "seenguard";

export interface Item {
  readonly id: string;
  readonly title: string;
  readonly url: string;
  /** Who published it, if that is not Wikipedia. */
  readonly publisher?: string;
  /** Only of a copy: the first item of its group, and how the server found it. */
  readonly copyOf?: { readonly id: string; readonly title: string; readonly by: "address" | "text" };
}

/** All ids of an item: seeing one item of a group counts for the others. */
export function idsOf({ id, copyOf }: Item): readonly string[] {
  return copyOf === undefined ? [id] : [id, copyOf.id];
}

/** One page of the feed, filtered by the server's chain alone, and the snapshot that it was filtered against. */
export interface Page {
  readonly items: readonly Item[];
  /** Ids of items that another device of this person has shown, and that have not arrived through the stream yet. */
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

/** Fields that the server does not count are absent. */
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
  /** The address of Flink's own page, if a job ingests the impressions. */
  readonly dashboard?: string;
}

/** The user's actions on the server. */
export type Condition = keyof StreamControl | "flush";

type Headers = Record<string, string>;

const TIMEOUT_MS = 10_000;
/** The timeout until a Flink job has ended or started. */
const CONTROL_TIMEOUT_MS = 120_000;

export class Api {
  /** The URL that receives impressions. */
  readonly impressionsUrl: string;
  private readonly base: string;

  constructor(user: string) {
    this.base = `./api/users/${encodeURIComponent(user)}`;
    this.impressionsUrl = `${this.base}/impressions`;
  }

  /** `headers`, here and below: those of the guard. */
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

  /** Deletes the person's history: on the server now, on each device with its next response. */
  async deleteHistory(): Promise<void> {
    await this.ask("history", { method: "DELETE" });
  }

  /** The server's store loses this reader's data. */
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
    return `the server responded with status ${String(response.status)}`;
  }
}
