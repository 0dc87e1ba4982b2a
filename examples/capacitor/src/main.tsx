/** The app: the sign-in, or the feed of the person who has signed in. */
import "@ionic/react/css/core.css";
import { IonApp, IonButton, IonContent, IonInput, IonPage, setupIonicReact } from "@ionic/react";
import { useEffect, useState } from "react";
import { createRoot } from "react-dom/client";
import { Feed } from "./feed.tsx";
import { beginSession, readSession, type Session } from "./session.ts";

setupIonicReact();

function App() {
  // `undefined`: the session is being read; `null`: nobody is signed in.
  const [session, setSession] = useState<Session | null>();
  useEffect(() => void readSession().then(setSession), []);
  if (session === undefined) return null;
  return (
    <IonApp>
      {session ? <Feed session={session} onSignedOut={() => setSession(null)} /> : <SignIn onSignedIn={setSession} />}
    </IonApp>
  );
}

function SignIn({ onSignedIn }: { onSignedIn: (session: Session) => void }) {
  const [name, setName] = useState("");
  return (
    <IonPage>
      <IonContent className="ion-padding">
        <IonInput label="Your name" value={name} onIonInput={({ detail }) => setName(detail.value ?? "")} />
        <IonButton disabled={name === ""} onClick={() => void beginSession(name).then(onSignedIn)}>
          Sign in
        </IonButton>
      </IonContent>
    </IonPage>
  );
}

const root = document.getElementById("root");
if (root) createRoot(root).render(<App />);
