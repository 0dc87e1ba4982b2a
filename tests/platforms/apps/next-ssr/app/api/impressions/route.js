/** Takes what devices report: JSON, or, from a page that is left, the same as text/plain. */
import { store } from "../../../server/feed.js";
import { currentUser } from "../../../server/session.js";

/** The latter: of a tab of somebody who has signed out. It keeps what it has to report. */
const STATUS = { "bad-report": 400, "wrong-namespace": 409 };

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
