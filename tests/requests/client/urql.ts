/** urql, the snapshot in `extensions`. */
import { Client, fetchExchange, gql } from "@urql/core";
import type { FeedPage, PageRequest, SeenGuard, Snapshot } from "seenguard";

const query = gql<{ feed: FeedPage<{ id: string }> }>`
  query Feed($cursor: String) {
    feed(cursor: $cursor) {
      items {
        id
      }
      next
    }
  }
`;

export function fetchPageOf(_guard: SeenGuard, baseUrl: string) {
  const client = new Client({ url: `${baseUrl}/graphql`, exchanges: [fetchExchange], preferGetMethod: false });
  return async ({ cursor, headers, signal }: PageRequest) => {
    const context = { requestPolicy: "network-only", fetchOptions: { headers, signal } } as const;
    const { data, error, extensions } = await client.query(query, { cursor }, context);
    if (!data) throw error ?? new Error("there is no page in the answer");
    return { ...data.feed, snapshot: extensions?.snapshot as Snapshot };
  };
}
