/** The session, in the system's Preferences, which are not cleared with the webview's data. */
import { Preferences } from "@capacitor/preferences";
import { authorizationOf, request } from "./api.ts";

export interface Session {
  /** Never changes, unlike a name. */
  readonly userId: string;
  readonly token: string;
}

const KEY = "session";

export async function readSession(): Promise<Session | null> {
  const { value } = await Preferences.get({ key: KEY });
  return value === null ? null : (JSON.parse(value) as Session);
}

export async function beginSession(name: string): Promise<Session> {
  const headers = { "Content-Type": "application/json" };
  const session = await request<Session>("/session", { method: "POST", headers, body: JSON.stringify({ name }) });
  await Preferences.set({ key: KEY, value: JSON.stringify(session) });
  return session;
}

export async function endSession({ token }: Session): Promise<void> {
  await Preferences.remove({ key: KEY });
  await request("/session", { method: "DELETE", headers: authorizationOf(token) });
}
