/** A window of the app: the feed, guarded. */
import { WebviewWindow } from "@tauri-apps/api/webviewWindow";
import { fetch } from "@tauri-apps/plugin-http";
import { SeenGuard } from "seenguard";
import { storage as ownStore } from "./store";

interface Story {
  id: string;
  title: string;
}

const SERVER = "http://localhost:8787";
const namespace = "home:ada";
// IndexedDB is enough for a Tauri app; `index.html?own` uses the app's own store instead.
const storage = location.search === "?own" ? ownStore : "indexeddb";

const list = document.querySelector<HTMLOListElement>("#feed")!;
const guard = await SeenGuard.open({ namespace, storage });
// The plugin's `fetch` requests from Rust, without CORS. The guard adds its headers and applies the response's snapshot.
const guardedFetch = guard.fetch({ match: new URL(`${SERVER}/api/feed`), fetch });
const feed = guard.feed();
guard.observe(list);
guard.report({ url: `${SERVER}/api/feed/seen`, fetch, intervalMs: 1_000 });

async function refresh(): Promise<void> {
  const response = await guardedFetch(`${SERVER}/api/feed`);
  const { items } = (await response.json()) as { items: Story[] };
  feed.reset();
  list.replaceChildren(...feed.filter(items).map(elementOf));
}

function elementOf({ id, title }: Story): HTMLLIElement {
  const element = document.createElement("li");
  element.textContent = title;
  element.dataset.seenId = id;
  return element;
}

async function signOut(): Promise<void> {
  await SeenGuard.signOut(namespace, { storage });
  list.replaceChildren();
}

function onClick(id: string, act: () => unknown): void {
  document.querySelector(`#${id}`)!.addEventListener("click", () => void act());
}

onClick("refresh", refresh);
onClick(
  "window",
  () => new WebviewWindow(`window-${Date.now()}`, { title: "Feed", url: location.pathname + location.search }),
);
onClick("sign-out", signOut);
await refresh();
