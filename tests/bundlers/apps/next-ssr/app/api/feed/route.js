/** The next pages. */
import { seenOf } from "seenguard/server";
import { readPage } from "../../../server/feed.js";
import { currentUser } from "../../../server/session.js";

export async function GET(request) {
  const user = await currentUser();
  if (user === undefined) return new Response(null, { status: 403 });
  const cursor = request.nextUrl.searchParams.get("cursor");
  const page = await readPage(user, { cursor, ...seenOf(request) });
  return Response.json(page, { headers: { "cache-control": "private, no-store" } });
}
