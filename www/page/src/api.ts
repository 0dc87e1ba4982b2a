/** The demo's server, as the page talks to it: `www/server/app.ts` lists the routes. */
import type { Snapshot } from "seenguard";

export interface Item {
  readonly id: string;
  readonly title: string;
  readonly url: string;
}

/** One page of the feed, and the state that the server filtered it against. */
export interface Page {
  readonly items: readonly Item[];
  readonly seen: Snapshot;
}

export interface StreamControl {
  readonly running: boolean;
  readonly lagSeconds: number;
  readonly losesEvents: boolean;
  readonly replicaLags: boolean;
}

export interface Status {
  readonly stream: StreamControl & { readonly accepted: number; readonly waiting: number; readonly lost: number };
  /** Only when it is not the version that was asked with. */
  readonly seen?: Snapshot;
}

const TIMEOUT_MS = 10_000;

export class Api {
  /** Where impressions are delivered to. */
  readonly impressionsUrl: string;
  private readonly base: string;

  constructor(user: string) {
    this.base = `./api/users/${encodeURIComponent(user)}`;
    this.impressionsUrl = `${this.base}/impressions`;
  }

  page(turn: number, size: number): Promise<Page> {
    return this.ask(`feed?turn=${String(turn)}&size=${String(size)}`);
  }

  status(version: number | undefined): Promise<Status> {
    return this.ask(version === undefined ? "status" : `status?version=${String(version)}`);
  }

  control(change: Partial<StreamControl>): Promise<StreamControl> {
    return this.ask("stream", { method: "PUT", ...json(change) });
  }

  /** The server's store loses what it knows of this reader. */
  async flush(): Promise<void> {
    await this.ask("flush", { method: "POST" });
  }

  private async ask<T>(path: string, init: RequestInit = {}): Promise<T> {
    const response = await fetch(`${this.base}/${path}`, { signal: AbortSignal.timeout(TIMEOUT_MS), ...init });
    if (!response.ok) throw new Error(await reasonOf(response));
    return (response.status === 204 ? undefined : await response.json()) as T;
  }
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
