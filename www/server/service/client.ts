/** A client of `seenguard-server`, for a server in Node: docs/service.md has the routes. It needs only `fetch`. */
import type { Page, PageOptions, Snapshot } from "seenguard/server";
import { Refused } from "../back-end.ts";

/** The service tries for five seconds to store a report while Redis is down: too long for a page. */
const TIMEOUT_MS = 3_000;

export class ServiceClient {
  constructor(private readonly url: string) {}

  snapshot(user: string): Promise<Snapshot> {
    return this.ask(user, "GET", "snapshot");
  }

  /** Without a snapshot and `degraded` if the service's store does not respond. */
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

  /** The unchanged body of a device's report. */
  async report(user: string, body: unknown): Promise<void> {
    await this.ask(user, "POST", "impressions", body);
  }

  async forget(user: string): Promise<void> {
    await this.ask(user, "DELETE", "history");
  }

  private async ask<T>(
    user: string,
    method: string,
    what: string,
    body?: unknown,
    headers: readonly [name: string, value: string | null | undefined][] = [],
  ): Promise<T> {
    const response = await fetch(`${this.url}/v1/users/${encodeURIComponent(user)}/${what}`, {
      method,
      headers: headers.flatMap(([name, value]): [string, string][] => (value ? [[name, value]] : [])),
      body: body === undefined ? null : JSON.stringify(body),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    }).catch((error: unknown) => {
      throw new Refused(503, "unavailable", `the service cannot be reached now (${String(error)}); try again`);
    });
    if (response.status === 204) return undefined as T;
    const content: unknown = await response.json();
    if (response.ok) return content as T;
    const { code, detail } = content as { code: string; detail: string };
    throw new Refused(response.status, code, detail);
  }
}
