/** The page: its data comes from a server function. */
import { createResource, onMount, Suspense } from "solid-js";
import { SeenGuard } from "seenguard";
import { showFeed } from "../../feed.js";
import { Feed } from "./feed.jsx";
import { load } from "./load.js";

export default function App() {
  const [outcome] = createResource(load);
  onMount(() => showFeed({ SeenGuard }));
  return (
    <>
      <Feed userId="ada" />
      <Suspense>
        <pre id="server">{JSON.stringify(outcome())}</pre>
      </Suspense>
    </>
  );
}
