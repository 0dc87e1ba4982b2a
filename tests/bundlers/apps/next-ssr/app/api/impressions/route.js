/** Takes what devices report: JSON, or, from a page that is left, the same as text/plain. */
import { store } from "../../../server/feed.js";
import { currentUser } from "../../../server/session.js";

/**
 * After each of these but the first a device keeps what it has to report; 409: of a tab of somebody who has signed out.
 */
const STATUS = { "bad-report": 400, "wrong-namespace": 409, "too-large": 413, storage: 503 };

export async function POST(request) {
  const user = await currentUser();
  if (user === undefined) return new Response(null, { status: 403 });
  try {
    await store.ingest(user, await store.accept(user, await request.text()));
  } catch (error) {
    if (!(error.code in STATUS)) throw error;
    return new Response(null, { status: STATUS[error.code] });
  }
  return new Response(null, { status: 204 });
}
