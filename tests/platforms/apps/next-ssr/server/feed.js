/** A page of what this person has not seen, by the store and by this device's cookie. */
import { cookies } from "next/headers";
import { memoryStore, pageOf } from "seenguard/server";
import { articles } from "./articles.js";

// In your app redisStore. On globalThis, as Next may load a module once for pages and once for route handlers.
export const store = (globalThis.seenStore ??= memoryStore({ capacity: 2000 }));

export async function readPage(user, { cursor, held } = {}) {
  const pending = await pendingOf(user);
  const chain = await store.read(user);
  try {
    return pageOf(chain, articles, { size: 20, cursor, held, pending });
  } finally {
    chain.free();
  }
}

/** The cookie names whose it is: after a sign-out it may still be somebody else's. */
async function pendingOf(user) {
  const cookie = (await cookies()).get("seen")?.value ?? "";
  const owner = `home:${user}|`;
  return cookie.startsWith(owner) ? cookie.slice(owner.length) : undefined;
}
