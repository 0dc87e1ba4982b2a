/** The app: the sign-in, or the feed of the person who has signed in. */
import "@ionic/react/css/core.css";
import { IonApp, setupIonicReact } from "@ionic/react";
import { useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { Feed } from "./feed.tsx";
import { readSession, type Session } from "./session.ts";
import { SignIn } from "./sign-in.tsx";

setupIonicReact();

function App() {
  // `undefined`: Preferences have not answered yet; `null`: nobody is signed in.
  const [session, setSession] = useState<Session | null>();
  useEffect(() => void readSession().then(setSession), []);
  if (session === undefined) return null;
  return (
    <IonApp>
      {session ? <Feed session={session} onSignedOut={() => setSession(null)} /> : <SignIn onSignedIn={setSession} />}
    </IonApp>
  );
}

const root = document.getElementById("root");
if (root) createRoot(root).render(<App />);
