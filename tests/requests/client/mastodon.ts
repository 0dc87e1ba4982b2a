/** A client that takes no fetch and answers with a list, as masto.js. */
import type { PageRequest, SeenGuard, Snapshot } from "seenguard";

/** `list`: the client's, such as `masto.v1.timelines.home.list`. */
export function fetchPageOf(_guard: SeenGuard, baseUrl: string, list = listOf(baseUrl)) {
  return async ({ cursor, headers, signal }: PageRequest) => {
    const seen = fetch(`${baseUrl}/seen`, { headers, signal });
    const items = await list({ maxId: cursor });
    const { snapshot } = (await (await seen).json()) as { snapshot: Snapshot };
    return { items, next: items.at(-1)?.id ?? null, snapshot };
  };
}

/** In place of the client: the next page is what is older than the last status. */
const listOf = (baseUrl: string) => async (params: { maxId: string | undefined }) => {
  const query = new URLSearchParams(params.maxId === undefined ? {} : { max_id: params.maxId });
  const response = await fetch(`${baseUrl}/api/v1/timelines/home?${query.toString()}`);
  return (await response.json()) as { id: string }[];
};
