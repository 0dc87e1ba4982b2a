/** The guard of the person who is signed in, and its reports. */
import { App } from "@capacitor/app";
import { useEffect } from "react";
import { SeenGuard } from "seenguard";
import { useReport, useSeenGuard } from "seenguard/react";
import { addressOf, apiFetch, authorizationOf } from "./api.ts";
import { endSession, type Session } from "./session.ts";

const namespaceOf = ({ userId }: Session) => `home:${userId}`;

export function useGuard(session: Session): SeenGuard | null | undefined {
  const { guard } = useSeenGuard({ namespace: namespaceOf(session), open: SeenGuard.open });
  useReport(guard, { url: addressOf("/seen"), headers: authorizationOf(session.token), fetch: apiFetch });
  // On some devices the app goes to the background and comes back without events of the page: deliver then, too.
  useEffect(() => {
    const listening = App.addListener("appStateChange", () => void guard?.deliver());
    return () => void listening.then((listener) => listener.remove());
  }, [guard]);
  return guard;
}

/** Delivers pending impressions while the session is valid, ends it, and clears the guard's storage. */
export async function signOut(session: Session, guard: SeenGuard | null | undefined): Promise<void> {
  await guard?.deliver();
  await endSession(session).catch(console.warn); // offline, too, this person's data is cleared
  await SeenGuard.signOut(namespaceOf(session), { timeoutMs: 0 });
}
