/** A feed in React 19 under StrictMode: every component renders twice, every effect runs twice. */
import { StrictMode, useEffect, useRef, useState } from "react";
import { createRoot } from "react-dom/client";
import { SeenGuard } from "seenguard";
import scenario from "../scenario.json";
import { type Answer, useFeed } from "./use-feed.js";

declare global {
  interface Window {
    guard: SeenGuard;
    renders: number;
    fetches: number;
  }
}

const SHOWN = 8;
window.renders = 0;
window.fetches = 0;

/** As a cache of queries does, each answer is new, and equal to the last. */
function fetchAnswer(): Promise<Answer> {
  window.fetches++;
  return Promise.resolve(structuredClone({ items: scenario.page, snapshot: scenario.snapshot }));
}

function Feed({ guard }: { guard: SeenGuard }) {
  window.renders++;
  const list = useRef<HTMLOListElement>(null);
  const { items, refetch } = useFeed(guard, fetchAnswer);
  useEffect(() => (list.current === null ? undefined : guard.observe(list.current, { dwellMs: 100 })), [guard]);
  return (
    <>
      <button onClick={() => void refetch()}>Fetch again</button>
      <ol ref={list}>
        {items.slice(0, SHOWN).map(({ id }) => (
          <li key={id} data-seen-id={id} style={{ height: 40 }}>
            {id}
          </li>
        ))}
      </ol>
    </>
  );
}

function App({ guard }: { guard: SeenGuard }) {
  const [list, setList] = useState(0);
  return (
    <>
      <button
        onClick={() => {
          setList(list + 1);
        }}
      >
        New list
      </button>
      <Feed key={list} guard={guard} />
    </>
  );
}

const guard = await SeenGuard.open({ namespace: "home:reader" });
window.guard = guard;
const root = document.querySelector("#root");
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      <App guard={guard} />
    </StrictMode>,
  );
}
