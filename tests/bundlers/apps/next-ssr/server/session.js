/** Who is signed in. In your app, a session that is signed. */
import { cookies } from "next/headers";

export async function currentUser() {
  return (await cookies()).get("session")?.value;
}
