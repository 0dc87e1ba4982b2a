/** The first page, rendered for this person on this device. */
import { readFirstPage } from "../server/feed.js";
import { currentUser } from "../server/session.js";
import { Feed } from "./feed.jsx";

export default async function Page() {
  const user = await currentUser();
  if (user === undefined) return <p>Please sign in.</p>;
  return <Feed key={user} user={user} first={await readFirstPage(user)} />;
}
