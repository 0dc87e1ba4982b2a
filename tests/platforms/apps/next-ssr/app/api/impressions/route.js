/** Takes what devices report: JSON, or, from a page that is left, the same as text/plain. */
import { parseReport } from "seenguard/server";
import { store } from "../../../server/feed.js";
import { currentUser } from "../../../server/session.js";

export async function POST(request) {
  const user = await currentUser();
  if (user === undefined) return new Response(null, { status: 403 });
  const report = read(await request.text());
  if (report === undefined) return new Response(null, { status: 400 });
  // A tab of somebody who has signed out: it keeps what it has to report.
  if (report.namespace !== `home:${user}`) return new Response(null, { status: 409 });
  await store.update(user, (chain) => chain.take(report));
  return new Response(null, { status: 204 });
}

function read(body) {
  try {
    return parseReport(body);
  } catch {
    return undefined;
  }
}
