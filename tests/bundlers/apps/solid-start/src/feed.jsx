/** The list of docs/frameworks.md. */
import { createEffect, createSignal, For, onCleanup, Show } from "solid-js";
import { SeenGuard } from "seenguard";

export function Feed(props) {
  const [items, setItems] = createSignal([]);
  const [loading, setLoading] = createSignal(true);
  const [last, setLast] = createSignal();
  let list;
  let feed;

  // In the browser alone, and again for another person.
  createEffect(() => {
    const opening = SeenGuard.open({ namespace: `home:${props.userId}` });
    feed = opening.then((guard) => {
      guard.observe(list); // records an item when half of it has been in view for a second
      guard.report({ url: "/api/impressions" });
      return guard.feed();
    });
    onCleanup(() => opening.then((guard) => guard.close()));
    setItems([]);
    more();
  });

  async function more() {
    setLoading(true);
    const current = feed;
    const result = await (await current).fill(fetchPage, 10); // 10 fresh items or more
    if (current !== feed) return; // another person's by now
    setItems((items) => [...items, ...result.items]);
    setLast(result);
    setLoading(false);
  }

  return (
    <>
      <ol ref={list}>
        <For each={items()}>{(item) => <li data-seen-id={item.id}>{item.title}</li>}</For>
      </ol>
      <Show when={last()?.end === "error"}>
        <p>The feed cannot be loaded.</p>
      </Show>
      <Show when={!last()?.done} fallback={<p>That is all.</p>}>
        <button disabled={loading()} onClick={more}>
          More
        </button>
      </Show>
    </>
  );
}

async function fetchPage({ cursor = "", headers, signal }) {
  const response = await fetch(`/api/feed?cursor=${cursor}`, { headers, signal });
  return response.json(); // { items, snapshot, next }
}
