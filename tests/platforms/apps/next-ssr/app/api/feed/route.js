/** The next pages. */
import { readPage } from "../../../server/feed.js";
import { currentUser } from "../../../server/session.js";

export async function GET(request) {
  const user = await currentUser();
  if (user === undefined) return new Response(null, { status: 403 });
  const page = await readPage(user, {
    cursor: request.nextUrl.searchParams.get("cursor"),
    held: request.headers.get("seen-held"),
  });
  return Response.json(page, { headers: { "cache-control": "private, no-store" } });
}
