/** Other versions and adapters of axios, by interceptors. */
import axios from "axios";
import type { FeedPage, PageRequest, SeenGuard, Snapshot } from "seenguard";

export function fetchPageOf(guard: SeenGuard, baseURL: string) {
  const client = axios.create({ baseURL });
  client.interceptors.request.use((config) => {
    if (config.url === "/api/feed") config.headers.set(guard.headers());
    return config;
  });
  client.interceptors.response.use((response) => {
    if (response.config.url === "/api/feed") guard.apply((response.data as { snapshot: Snapshot }).snapshot);
    return response;
  });
  return async ({ cursor, signal }: PageRequest) =>
    (await client.get<FeedPage<{ id: string }>>("/api/feed", { params: { cursor }, signal })).data;
}
