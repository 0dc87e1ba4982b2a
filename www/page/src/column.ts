/** One of the two feeds on the page: blocks of items, one block for each page that arrived. */
import type { Item } from "./api.ts";
import type { Side } from "./experiment.ts";
import { ago, plural } from "./format.ts";
import type { ShownItem } from "./stored-list.ts";

/** One page in a column. */
export interface Block {
  readonly number: number;
  readonly shown: readonly ShownItem[];
  /** How many of these, at the end, were seen before and are shown nonetheless. */
  readonly repeated: number;
  readonly stopped: readonly ShownItem[];
}

export interface ColumnParts {
  /** Returns why an item was stopped. */
  readonly explain: (item: ShownItem) => string;
  /** Makes a stopped item unseen. Returns the item if the list shows it. */
  readonly showAgain: (item: ShownItem) => ShownItem | undefined;
  /** Called with each element that is shown. */
  readonly onShown: (element: HTMLElement) => void;
}

export class Column {
  private readonly pages: Element;
  private readonly score: Element;

  constructor(
    side: Side,
    private readonly parts: ColumnParts,
  ) {
    const root = one(document, `.column[data-side="${side}"]`);
    this.pages = one(root, ".pages");
    this.score = one(root, ".score b");
  }

  /** Every item element that is in the list. */
  items(): Iterable<Element> {
    return this.pages.querySelectorAll("[data-seen-id]");
  }

  clear(): void {
    this.pages.replaceChildren();
  }

  setRepeats(repeats: number): void {
    this.score.textContent = String(repeats);
  }

  /** Appends one page: its shown items, and its stopped ones. */
  append({ number, shown, repeated, stopped }: Block): void {
    const lastFresh = shown.length - repeated;
    const elements = shown.map((item, index) => itemElement(item, index >= lastFresh));
    const block = make("section", "block");
    const repeats = shown.slice(0, lastFresh).filter(({ seenAt }) => seenAt !== undefined).length;
    const heading = make("h3", repeats > 0 ? "block-title repeats" : "block-title", `Page ${String(number)}`);
    heading.append(" ", make("small", "", blockSummary(shown.length, repeats, repeated, stopped.length)));
    const list = make("ul", "items");
    list.append(...elements);
    const empty = make("p", "empty", "Nothing new for you on this page.");
    empty.hidden = elements.length > 0;
    block.append(heading, empty, list);
    if (stopped.length > 0) block.append(this.stoppedElement(stopped, block));
    this.pages.append(block);
    for (const element of elements) this.parts.onShown(element);
  }

  private stoppedElement(stopped: readonly ShownItem[], block: Element): HTMLElement {
    const details = make("details", "stopped");
    const list = make("ul", "");
    for (const item of stopped) list.append(this.stoppedItem(item, block));
    details.append(make("summary", "", `${String(stopped.length)} stopped`), list);
    return details;
  }

  private stoppedItem(item: ShownItem, block: Element): HTMLElement {
    const entry = make("li", "stopped-item");
    const why = make("button", "why");
    const again = make("button", "again quiet", "Show again");
    const reason = make("p", "reason");
    why.type = again.type = "button";
    why.append(make("span", "", nameOf(item)), make("small", "", "Why?"));
    why.setAttribute("aria-expanded", "false");
    again.setAttribute("aria-label", `Show again: ${item.title}`);
    reason.hidden = true;
    why.addEventListener("click", () => {
      reason.hidden = !reason.hidden;
      why.setAttribute("aria-expanded", String(!reason.hidden));
      if (!reason.hidden) reason.textContent = this.parts.explain(item);
    });
    again.addEventListener("click", () => {
      const shown = this.parts.showAgain(item);
      if (shown === undefined) {
        reason.hidden = false;
        why.setAttribute("aria-expanded", "true");
        reason.textContent = this.parts.explain(item);
      } else this.move(entry, shown, block);
    });
    entry.append(why, again, reason);
    return entry;
  }

  /** A stopped item goes to the end of what its page shows, and the focus with it. */
  private move(entry: Element, item: ShownItem, block: Element): void {
    const element = itemElement(item, false);
    const details = one(block, ".stopped");
    entry.remove();
    one(block, ".items").append(element);
    one(block, ".empty").setAttribute("hidden", "");
    const left = details.querySelectorAll("li").length;
    one(details, "summary").textContent = `${String(left)} stopped`;
    if (left === 0) details.remove();
    const shown = block.querySelectorAll(".items > li").length;
    one(block, ".block-title small").textContent = blockSummary(shown, 0, 0, left);
    this.parts.onShown(element);
    one(element, "a").scrollIntoView({ block: "nearest" });
    (one(element, "a") as HTMLElement).focus();
  }
}

function blockSummary(shown: number, repeats: number, repeated: number, stopped: number): string {
  const parts = [`${String(shown)} shown`];
  if (stopped > 0) parts.push(`${String(stopped)} stopped`);
  else if (repeats > 0) parts.push(plural(repeats, "repeat"));
  if (repeated > 0) parts.push(`${String(repeated)} of them seen before`);
  return parts.join(", ");
}

/** `isLast`: it was seen before, and is shown last all the same. */
function itemElement(item: ShownItem, isLast: boolean): HTMLElement {
  const { id, title, copyOf, seenAt } = item;
  const isRepeat = seenAt !== undefined && !isLast;
  const element = make("li", isLast ? "item last" : isRepeat ? "item repeat" : "item");
  element.dataset.seenId = id;
  if (copyOf !== undefined) element.dataset.groupId = copyOf.id;
  const [, name = title, kind = "Wikipedia article"] = /^(.+?)(?: \((.+)\))?$/.exec(title) ?? [];
  const link = make("a", "", name);
  link.href = articleAddress(id);
  const text = make("div", "text");
  text.append(link, make("small", "note", noteOf(item, kind, isLast)));
  element.append(pictureOf(item), text);
  return element;
}

function noteOf({ publisher = "", copyOf, seenAt }: ShownItem, kind: string, isLast: boolean): string {
  const seen = seenAt === undefined ? "seen before" : `you saw it ${ago(seenAt)}`;
  if (isLast) return `Shown last: ${seen}`;
  if (seenAt !== undefined)
    return copyOf === undefined
      ? `Repeat: ${seen}`
      : `Repeat, by ${copyOf.by === "address" ? "a repost" : "an edited copy"}: ${seen}`;
  if (copyOf?.by === "address") return `Reposted by ${publisher}`;
  return publisher === "" ? kind : `By ${publisher}`;
}

/** As it is called where it is not shown. */
function nameOf({ title, copyOf }: Item): string {
  if (copyOf === undefined) return title;
  return copyOf.by === "address" ? `Repost: ${title}` : `Edited copy: ${title}`;
}

/** A picture of sorts: the title's first letter in a colour of its own. */
export function pictureOf({ id, title }: Item): HTMLElement {
  const letter = title.replace(/^[^\p{L}\p{N}]+/u, "").charAt(0);
  const picture = make("span", "picture", letter.toUpperCase());
  picture.setAttribute("aria-hidden", "true");
  picture.style.setProperty("--hue", String(hueOf(id)));
  return picture;
}

/** The article's page, for the reader and with the options of this page. */
function articleAddress(id: string): string {
  const address = new URL("./article.html", location.href);
  address.search = location.search;
  address.searchParams.set("item", id);
  return address.href;
}

function hueOf(id: string): number {
  let sum = 0;
  for (let at = 0; at < id.length; at++) sum = (sum * 31 + id.charCodeAt(at)) % 360;
  return sum;
}

function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  className: string,
  text?: string,
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  if (className !== "") element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

/** The one element that the page has for the selector. */
export function one(root: ParentNode, selector: string): Element {
  const element = root.querySelector(selector);
  if (element === null) throw new Error(`the page has no ${selector}`);
  return element;
}
