/** The stories that this person has not seen yet, more of them as the end of the list comes near. */
import {
  IonButton,
  IonButtons,
  IonContent,
  IonHeader,
  IonInfiniteScroll,
  IonInfiniteScrollContent,
  IonItem,
  IonList,
  IonPage,
  IonRefresher,
  IonRefresherContent,
  IonTitle,
  IonToolbar,
} from "@ionic/react";
import type { FeedPage, PageRequest, SeenGuard } from "seenguard";
import { useSeenPages, useSeenRef } from "seenguard/react";
import { authorizationOf, request } from "./api.ts";
import { signOut, useGuard } from "./guard.ts";
import type { Session } from "./session.ts";

interface Story {
  readonly id: string;
  readonly title: string;
}

export function Feed({ session, onSignedOut }: { session: Session; onSignedOut: () => void }) {
  const guard = useGuard(session);
  const fetchPage = ({ cursor = "", headers, signal }: PageRequest) =>
    request<FeedPage<Story>>(`/feed?cursor=${cursor}`, {
      headers: { ...headers, ...authorizationOf(session.token) },
      signal,
    });
  const { items, error, done, loadMore, reset } = useSeenPages(guard, fetchPage, { want: 12, key: "home" });
  return (
    <IonPage>
      <IonHeader>
        <IonToolbar>
          <IonTitle>New to you</IonTitle>
          <IonButtons slot="end">
            <IonButton onClick={() => void signOut(session, guard).then(onSignedOut)}>Sign out</IonButton>
          </IonButtons>
        </IonToolbar>
      </IonHeader>
      <IonContent>
        <IonRefresher slot="fixed" onIonRefresh={({ detail }) => void reset().then(() => detail.complete())}>
          <IonRefresherContent />
        </IonRefresher>
        <IonList>
          {items.map((story) => (
            <StoryItem key={story.id} guard={guard} story={story} />
          ))}
        </IonList>
        {error !== undefined && <IonButton onClick={() => void loadMore()}>Try again</IonButton>}
        <IonInfiniteScroll
          disabled={done || items.length === 0}
          onIonInfinite={({ target }) => void loadMore().then(() => target.complete())}
        >
          <IonInfiniteScrollContent />
        </IonInfiniteScroll>
      </IonContent>
    </IonPage>
  );
}

function StoryItem({ guard, story }: { guard: SeenGuard | null | undefined; story: Story }) {
  return <IonItem ref={useSeenRef(guard, story.id)}>{story.title}</IonItem>;
}
