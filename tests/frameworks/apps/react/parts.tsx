/** The smaller examples of the documentation: a list under a pill, and one in two orders. */
import { SortedFeed } from "documented-order";
import { Timeline } from "documented-pill";
import { StrictMode, useState } from "react";
import { createRoot } from "react-dom/client";
import { useSeenGuard } from "seenguard/react";
import { namespaceOf, noteRender, open } from "../shared.ts";

const itemsOf = (...ids: string[]) => ids.map((id) => ({ id }));
const loaded = itemsOf("old-0", "old-1", "old-2");

function Parts() {
  const guard = useSeenGuard({ namespace: namespaceOf("ada"), open });
  noteRender("ada", guard);
  const [arrived, setArrived] = useState(itemsOf());
  if (location.pathname === "/order") return <SortedFeed guard={guard} />;
  return (
    <>
      <button onClick={() => setArrived(itemsOf("new-1", "new-0", "old-0"))}>Arrive</button>
      <Timeline guard={guard} loaded={loaded} arrived={arrived} />
    </>
  );
}

createRoot(document.querySelector("#app") ?? document.body).render(
  <StrictMode>
    <Parts />
  </StrictMode>,
);
