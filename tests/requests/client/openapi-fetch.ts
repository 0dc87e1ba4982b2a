/** openapi-fetch, generated of a description that knows nothing of `snapshot`. */
import createClient from "openapi-fetch";
import type { PageRequest, SeenGuard } from "seenguard";

interface Page {
  items: { id: string }[];
  next: string | null;
}
/** In your app generated of the API's description. */
interface paths {
  "/api/feed": {
    get: {
      parameters: { query: { cursor?: string | undefined } };
      responses: { 200: { content: { "application/json": Page } } };
    };
  };
}

export function fetchPageOf(guard: SeenGuard, baseUrl: string) {
  const client = createClient<paths>({ baseUrl, fetch: guard.fetch({ match: /\/api\/feed\b/ }) });
  return async ({ cursor, signal }: PageRequest) => {
    const { data, error } = await client.GET("/api/feed", { params: { query: { cursor } }, signal });
    if (!data) throw new Error("there is no page in the answer", { cause: error });
    return data;
  };
}
