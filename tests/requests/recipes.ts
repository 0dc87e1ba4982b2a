/** The recipes of docs/clients.md: how each client fetches pages, with the headers, and applies their snapshots. */
import { ApolloClient, gql, HttpLink, InMemoryCache, type TypedDocumentNode } from "@apollo/client";
import { Client as UrqlClient, fetchExchange, gql as urqlGql } from "@urql/core";
import axios from "axios";
import createClient from "openapi-fetch";
import type { FeedPage, FetchPage, PageRequest, SeenGuard, Snapshot } from "seenguard";

export interface Item {
  readonly id: string;
}
export interface Post {
  readonly post: { readonly ap_id: string };
}
export interface Recipe {
  readonly fetchPageOf: (guard: SeenGuard, baseUrl: string) => FetchPage<Item | Post>;
  /** The id of an item whose id is in another field. */
  readonly idOf?: (item: Item | Post) => string;
}

type ApolloQuery = TypedDocumentNode<{ feed: FeedPage<Item> }, { cursor: string | undefined }>;

/** Apollo Client 4, the snapshot in a field. */
function apollo(guard: SeenGuard, baseUrl: string) {
  const query: ApolloQuery = gql`
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
  const link = new HttpLink({
    uri: ({ operationName }) => `${baseUrl}/graphql?${operationName}`,
    fetch: guard.fetch({ match: /graphql\?Feed$/ }),
  });
  const client = new ApolloClient({ link, cache: new InMemoryCache() });
  return async ({ cursor, signal }: PageRequest) => {
    const options = { fetchPolicy: "no-cache", context: { fetchOptions: { signal } } } as const;
    const { data } = await client.query({ query, variables: { cursor }, ...options });
    if (!data) throw new Error("there is no page in the response");
    return data.feed;
  };
}

/** axios 1.12 or newer, by its adapter "fetch". */
function axiosFetch(guard: SeenGuard, baseURL: string) {
  const env = { fetch: guard.fetch({ match: new URL("/api/feed", baseURL) }) };
  const client = axios.create({ baseURL, adapter: "fetch", env });
  return async ({ cursor, signal }: PageRequest) =>
    (await client.get<FeedPage<Item>>("/api/feed", { params: { cursor }, signal })).data;
}

/** Other versions and adapters of axios, by interceptors. */
function axiosInterceptors(guard: SeenGuard, baseURL: string) {
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
    (await client.get<FeedPage<Item>>("/api/feed", { params: { cursor }, signal })).data;
}

/** In your app generated from the API's description. */
interface paths {
  "/api/feed": {
    get: {
      parameters: { query: { cursor?: string | undefined } };
      responses: { 200: { content: { "application/json": { items: Item[]; next: string | null } } } };
    };
  };
}

/** openapi-fetch, generated from a description without `snapshot`. */
function openapiFetch(guard: SeenGuard, baseUrl: string) {
  const client = createClient<paths>({ baseUrl, fetch: guard.fetch({ match: /\/api\/feed\b/ }) });
  return async ({ cursor, signal }: PageRequest) => {
    const { data, error } = await client.GET("/api/feed", { params: { query: { cursor } }, signal });
    if (!data) throw new Error("there is no page in the response", { cause: error });
    return data;
  };
}

/** Query parameters, which need no preflight request. */
function otherOrigin(_guard: SeenGuard, baseUrl: string) {
  return async ({ cursor = "", headers, signal }: PageRequest) => {
    const query = new URLSearchParams({ cursor, ...headers }).toString();
    const response = await fetch(`${baseUrl}/api/feed?${query}`, { signal });
    return (await response.json()) as FeedPage<Item>;
  };
}

interface Answer {
  posts: Post[];
  next_page: string | null;
  snapshot: Snapshot;
}

const idOf = ({ post }: Post) => post.ap_id;

/** Any names of fields, and any ids. */
function posts(_guard: SeenGuard, baseUrl: string) {
  return async ({ cursor = "", headers, signal }: PageRequest) => {
    const response = await fetch(`${baseUrl}/api/posts?page_cursor=${cursor}`, { headers, signal });
    const { posts, next_page: next, snapshot } = (await response.json()) as Answer;
    return { items: posts, next, snapshot };
  };
}

/** urql, the snapshot in `extensions`. */
function urql(_guard: SeenGuard, baseUrl: string) {
  const query = urqlGql<{ feed: FeedPage<Item> }>`
    query Feed($cursor: String) {
      feed(cursor: $cursor) {
        items {
          id
        }
        next
      }
    }
  `;
  const client = new UrqlClient({ url: `${baseUrl}/graphql`, exchanges: [fetchExchange], preferGetMethod: false });
  return async ({ cursor, headers, signal }: PageRequest) => {
    const context = { requestPolicy: "network-only", fetchOptions: { headers, signal } } as const;
    const { data, error, extensions } = await client.query(query, { cursor }, context);
    if (!data) throw error ?? new Error("there is no page in the answer");
    return { ...data.feed, snapshot: extensions?.snapshot as Snapshot };
  };
}

/**
 * A client without an option for `fetch`, whose result is a list, such as masto.js. `list`: the client's method, such as
 * `masto.v1.timelines.home.list`.
 */
export function mastodon(_guard: SeenGuard, baseUrl: string, list = listOf(baseUrl)) {
  return async ({ cursor, headers, signal }: PageRequest) => {
    const seen = fetch(`${baseUrl}/seen`, { headers, signal });
    const items = await list({ maxId: cursor });
    const { snapshot } = (await (await seen).json()) as { snapshot: Snapshot };
    return { items, next: items.at(-1)?.id ?? null, snapshot };
  };
}

/** Stands for the client: the next page has the statuses older than the last one. */
const listOf = (baseUrl: string) => async (params: { maxId: string | undefined }) => {
  const query = new URLSearchParams(params.maxId === undefined ? {} : { max_id: params.maxId });
  const response = await fetch(`${baseUrl}/api/v1/timelines/home?${query.toString()}`);
  return (await response.json()) as Item[];
};

/** The items of the app's own provider. */
export const recipes: Readonly<Record<string, Recipe>> = {
  apollo: { fetchPageOf: apollo },
  "axios-fetch": { fetchPageOf: axiosFetch },
  "axios-interceptors": { fetchPageOf: axiosInterceptors },
  "openapi-fetch": { fetchPageOf: openapiFetch },
  "other-origin": { fetchPageOf: otherOrigin },
  posts: { fetchPageOf: posts, idOf: (item) => idOf(item as Post) },
  urql: { fetchPageOf: urql },
};
