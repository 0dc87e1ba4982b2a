/** Apollo Client 4, the snapshot in a field. */
import { ApolloClient, gql, HttpLink, InMemoryCache, type TypedDocumentNode } from "@apollo/client";
import type { FeedPage, PageRequest, SeenGuard } from "seenguard";

type Query = TypedDocumentNode<{ feed: FeedPage<{ id: string }> }, { cursor: string | undefined }>;
const query: Query = gql`
  query Feed($cursor: String) {
    feed(cursor: $cursor) {
      items {
        id
      }
      next
      snapshot
    }
  }
`;

export function fetchPageOf(guard: SeenGuard, baseUrl: string) {
  const link = new HttpLink({
    uri: ({ operationName }) => `${baseUrl}/graphql?${operationName}`,
    fetch: guard.fetch({ match: /graphql\?Feed$/ }),
  });
  const client = new ApolloClient({ link, cache: new InMemoryCache() });
  return async ({ cursor, signal }: PageRequest) => {
    const options = { fetchPolicy: "no-cache", context: { fetchOptions: { signal } } } as const;
    const { data } = await client.query({ query, variables: { cursor }, ...options });
    if (!data) throw new Error("there is no page in the answer");
    return data.feed;
  };
}
