/** What this device has shown to a person. */
import { App } from "@capacitor/app";
import { useEffect } from "react";
import { SeenGuard } from "seenguard";
import { useSeenGuard } from "seenguard/react";
import { addressOf, apiFetch, authorizationOf } from "./api.ts";
import { endSession, type Session } from "./session.ts";

const namespaceOf = ({ userId }: Session) => `home:${userId}`;

export function useGuard(session: Session): SeenGuard | null | undefined {
  const guard = useSeenGuard({
    namespace: namespaceOf(session),
    open: SeenGuard.open,
    report: { url: addressOf("/seen"), headers: authorizationOf(session.token), fetch: apiFetch },
  });
  // The app leaves and comes back without events of the page on some devices: what waits is delivered then.
  useEffect(() => {
    const listening = App.addListener("appStateChange", () => void guard?.deliver());
    return () => void listening.then((listener) => listener.remove());
  }, [guard]);
  return guard;
}

/** Delivers what waits while the session is there, ends it, and forgets what was shown. */
export async function signOut(session: Session, guard: SeenGuard | null | undefined): Promise<void> {
  await guard?.deliver();
  await endSession(session).catch(console.warn); // offline, too, nothing of this person is to stay here
  await guard?.close();
  await SeenGuard.clear(namespaceOf(session));
}
