/** A page of what this person has not seen, by the store and by what this device tells. */
import { cookies } from "next/headers";
import { memoryStore } from "seenguard/server";
import { articles } from "./articles.js";

// In your app redisStore. On globalThis, as Next may load a module once for pages and once for route handlers.
export const store = (globalThis.seenStore ??= memoryStore({ namespaceOf: (user) => `home:${user}` }));

/** `request`: the cursor, and what the device sent. */
export function readPage(user, request) {
  return store.page(user, articles, { size: 20, ...request });
}

/** What a browser asks for by itself has no headers of ours, but the cookie. */
export async function readFirstPage(user) {
  return readPage(user, { pending: await pendingOf(user) });
}

/** The cookie names whose it is: after a sign-out it may still be somebody else's. */
async function pendingOf(user) {
  const cookie = (await cookies()).get("seen")?.value ?? "";
  const owner = `home:${user}|`;
  return cookie.startsWith(owner) ? cookie.slice(owner.length) : undefined;
}
