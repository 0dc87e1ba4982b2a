/**
 * A client of `seenguard-server` with the verbs of a `SeenStore`, for a server in Node: docs/service.md has the routes.
 * It needs `fetch` and `seenguard/server` alone.
 */
import { parseReport, type Page, type PageOptions, type ReceivedReport, type Snapshot } from "seenguard/server";

/** The service tries for five seconds to keep a report while Redis is away: too long for who waits. */
const PATIENCE_MS = 3_000;

/** What the service answers instead: `code` says why. */
export class Refused extends Error {
  constructor(
    message: string,
    readonly code: string,
    readonly statusCode: number,
  ) {
    super(message);
  }
}

export class ServiceClient {
  constructor(private readonly url: string) {}

  snapshot(user: string): Promise<Snapshot> {
    return this.ask(user, "GET", "snapshot");
  }

  /** `degraded`, without a snapshot, where the service's store does not answer. */
  async page<T>(
    user: string,
    ranked: readonly T[],
    { id, held, pending, ...request }: PageOptions & { id: (item: T) => string },
  ): Promise<Page<T>> {
    const { size, cursor, repeats } = request;
    const ids = ranked.map(id);
    const page = await this.ask<Page<string>>(user, "POST", "page", { ranked: ids, size, cursor, repeats }, [
      ["Seen-Held", held],
      ["Seen-Pending", pending],
    ]);
    return { ...page, items: page.items.flatMap((given) => ranked.slice(ids.indexOf(given)).slice(0, 1)) };
  }

  /** Has the service keep what the device has pending; what it has shown is for a queue, and `ingest`. */
  async accept(user: string, body: unknown): Promise<ReceivedReport> {
    const report = parseReport(body);
    const { namespace, receivedAt: now, pending } = report;
    await this.ask(user, "POST", "impressions", { namespace, now, impressions: [], pending });
    return report;
  }

  /** A report's times are the server's since it was received: to the service it is of now. */
  async ingest(user: string, { namespace, impressions, unseen }: ReceivedReport): Promise<void> {
    await this.ask(user, "POST", "impressions", { namespace, now: Date.now(), impressions, unseen });
  }

  async forget(user: string): Promise<void> {
    await this.ask(user, "DELETE", "history");
  }

  private async ask<T>(
    user: string,
    method: string,
    what: string,
    body?: object,
    headers: readonly [name: string, value: string | null | undefined][] = [],
  ): Promise<T> {
    const answer = await fetch(`${this.url}/v1/users/${encodeURIComponent(user)}/${what}`, {
      method,
      headers: headers.flatMap(([name, value]): [string, string][] => (value ? [[name, value]] : [])),
      body: body === undefined ? null : JSON.stringify(body),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    if (answer.status === 204) return undefined as T;
    const content: unknown = await answer.json();
    if (answer.ok) return content as T;
    const { code, detail } = content as { code: string; detail: string };
    throw new Refused(detail, code, answer.status);
  }
}
