import { IonButton, IonContent, IonInput, IonPage } from "@ionic/react";
import { useState } from "react";
import { beginSession, type Session } from "./session.ts";

export function SignIn({ onSignedIn }: { onSignedIn: (session: Session) => void }) {
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
