/** Who reads: the session, which all tabs share, and what this account has seen. */
import { SeenGuard } from "seenguard";
import { useSeenGuard } from "seenguard/vue";
import { nextTick, shallowRef, watch } from "vue";
import type { Account } from "../../shared/story.ts";
import { isOfOtherSession, request, requestFor, type Request } from "../api.ts";

/** `null`: nobody is signed in; `undefined`: the server has not answered yet. */
export const account = shallowRef<Account | null>();

export const guard = useSeenGuard(
  () => account.value && { namespace: account.value.id, open: SeenGuard.open, report: { url: "/api/seen" } },
);

/** Resolves when the page of the reader, or that for signing in, is rendered. */
export async function rendered(): Promise<void> {
  const isKnown = () => account.value !== undefined && guard.value !== undefined;
  if (!isKnown()) await new Promise<void>((resolve) => watch(isKnown, () => resolve(), { once: true }));
  await nextTick();
}

export async function readSession(): Promise<void> {
  account.value = await request<Account | null>("GET", "/api/session");
}

export async function signIn(name: string): Promise<void> {
  const init = { headers: { "Content-Type": "application/json" }, body: JSON.stringify({ name }) };
  const signedIn = await request<Account>("POST", "/api/session", init);
  localStorage.setItem(NAMES, JSON.stringify([...new Set([signedIn.name, ...knownNames()])]));
  account.value = signedIn;
}

export async function signOut(): Promise<void> {
  await request("DELETE", "/api/session");
  account.value = null;
}

const NAMES = "names";

/** The names that have signed in here. */
export const knownNames = () => JSON.parse(localStorage.getItem(NAMES) ?? "[]") as string[];

/** The account that a component is for: it is rendered for one alone. */
export const reader = () => account.value as Account;

/** Requests for that account. If the session has become another's, so does the page. */
export function readerRequest(): Request {
  const send = requestFor(reader());
  return async (...args) => {
    try {
      return await send(...args);
    } catch (error) {
      if (isOfOtherSession(error)) await readSession();
      throw error;
    }
  };
}
