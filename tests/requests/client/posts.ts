/** Any names of fields, and any ids. */
import type { PageRequest, SeenGuard, Snapshot } from "seenguard";

interface Post {
  post: { ap_id: string };
}
interface Answer {
  posts: Post[];
  next_page: string | null;
  snapshot: Snapshot;
}

export const idOf = ({ post }: Post) => post.ap_id;

export function fetchPageOf(_guard: SeenGuard, baseUrl: string) {
  return async ({ cursor = "", headers, signal }: PageRequest) => {
    const response = await fetch(`${baseUrl}/api/posts?page_cursor=${cursor}`, { headers, signal });
    const { posts, next_page: next, snapshot } = (await response.json()) as Answer;
    return { items: posts, next, snapshot };
  };
}
