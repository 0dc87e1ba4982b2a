/** A client with a store and a pager of its own, and several accounts. */
import { StrictMode, useEffect, useSyncExternalStore } from "react";
import { createRoot } from "react-dom/client";
import { noteRender, users } from "../shared.ts";
import { forgetAccount, useSeenTimeline } from "./voyager/seen.ts";
import { endSession, loadMore, store } from "./voyager/store.ts";

function Client() {
  const { account, posts, page } = useSyncExternalStore(store.subscribe, store.getState);
  const { items, reset, status, guard, list, headers } = useSeenTimeline(account, posts);
  noteRender("ada", guard);
  useEffect(() => {
    if (status === "ready" && page === 0) void loadMore(headers);
  }, [status, account, page]);
  const refresh = () => {
    reset();
    store.dispatch({ type: "refreshed" });
  };
  return (
    <>
      <h1>{account ?? "Nobody"}</h1>
      {users.map((each) => (
        <button key={each} onClick={() => store.dispatch({ type: "signed-in", account: each })}>
          {each}
        </button>
      ))}
      <button onClick={refresh}>Refresh</button>
      <ol ref={list}>
        {items.map(({ id }) => (
          <li key={id} data-seen-id={id}>
            {id}
          </li>
        ))}
      </ol>
      <button onClick={() => void loadMore(headers)}>More</button>
    </>
  );
}

window.signOut = () => endSession(forgetAccount);
store.dispatch({ type: "signed-in", account: "ada" });
createRoot(document.querySelector("#app") ?? document.body).render(
  <StrictMode>
    <Client />
  </StrictMode>,
);

declare global {
  interface Window {
    /** As by a push message: no component is involved. */
    signOut: () => Promise<void>;
  }
}
