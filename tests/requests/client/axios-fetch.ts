/** axios 1.12 or newer, by its adapter "fetch". */
import axios from "axios";
import type { FeedPage, PageRequest, SeenGuard } from "seenguard";

export function fetchPageOf(guard: SeenGuard, baseURL: string) {
  const env = { fetch: guard.fetch({ match: new URL("/api/feed", baseURL) }) };
  const client = axios.create({ baseURL, adapter: "fetch", env });
  return async ({ cursor, signal }: PageRequest) =>
    (await client.get<FeedPage<{ id: string }>>("/api/feed", { params: { cursor }, signal })).data;
}
