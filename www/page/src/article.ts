/** An item's own page: `?item=ID`, and the reader's options, which the link back has, too. */
import { fetchItem, type Item } from "./api.ts";
import { one, pictureOf } from "./column.ts";

function wireBack(): void {
  const back = one(document, "#back") as HTMLAnchorElement;
  const feed = new URL("./", location.href);
  const cameFromFeed = document.referrer.startsWith(feed.href) && history.length > 1;
  feed.search = location.search;
  feed.searchParams.delete("item");
  back.href = feed.href;
  back.addEventListener("click", (event) => {
    if (!cameFromFeed || event.ctrlKey || event.metaKey || event.shiftKey) return;
    // The same entry of the history, whose list is unchanged.
    event.preventDefault();
    history.back();
  });
}

async function showItem(): Promise<void> {
  const item = await fetchItem(new URL(location.href).searchParams.get("item") ?? "");
  const title = one(document, "#article-title");
  const source = one(document, "#article-source") as HTMLAnchorElement;
  document.title = `${item.title} · Seenguard`;
  title.textContent = item.title;
  title.before(pictureOf(item));
  one(document, "#article-note").textContent = noteOf(item);
  source.href = item.url;
  // Copies by other publishers do not exist outside of the demo.
  source.hidden = new URL(item.url).hostname.endsWith(".example");
}

function noteOf({ publisher, copyOf }: Item): string {
  if (publisher === undefined) return "An article of the feed.";
  if (copyOf === undefined) return `By ${publisher}.`;
  return copyOf.by === "address"
    ? `Reposted by ${publisher}.`
    : `By ${publisher}: an edited copy of “${copyOf.title}”.`;
}

wireBack();
showItem().catch((error: unknown) => {
  one(document, "#article-title").textContent = "This article cannot be shown";
  one(document, "#article-note").textContent = error instanceof Error ? error.message : String(error);
});
