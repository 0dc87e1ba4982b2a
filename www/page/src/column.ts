/** One of the two feeds on the page: blocks of items, one block for each page that arrived. */
import type { Item } from "./api.ts";
import type { Side } from "./experiment.ts";
import { ago, plural } from "./format.ts";

/** An item, and when it was seen before if showing it is a repeat. */
export interface ShownItem extends Item {
  readonly seenAt: number | undefined;
}

export class Column {
  private readonly pages: Element;
  private readonly score: Element;

  constructor(
    side: Side,
    /** Says why an item was stopped, when somebody asks. */
    private readonly explain: (id: string) => string,
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

  /** Appends one page: what is shown of it, and what was stopped. Returns the shown items' elements. */
  append(pageNumber: number, shown: readonly ShownItem[], stopped: readonly Item[]): HTMLElement[] {
    const elements = shown.map(itemElement);
    const block = make("section", "block");
    const repeats = shown.filter(({ seenAt }) => seenAt !== undefined).length;
    const heading = make("h3", repeats > 0 ? "block-title repeats" : "block-title", `Page ${String(pageNumber)}`);
    heading.append(" ", make("small", "", blockSummary(shown.length, repeats, stopped.length)));
    const list = make("ul", "items");
    list.append(...elements);
    block.append(heading, elements.length > 0 ? list : make("p", "empty", "Nothing new for you on this page."));
    if (stopped.length > 0) block.append(this.stoppedElement(stopped));
    this.pages.append(block);
    return elements;
  }

  private stoppedElement(stopped: readonly Item[]): HTMLElement {
    const details = make("details", "stopped");
    const list = make("ul", "");
    for (const item of stopped) list.append(this.stoppedItem(item));
    details.append(make("summary", "", `${String(stopped.length)} stopped`), list);
    return details;
  }

  private stoppedItem({ id, title }: Item): HTMLElement {
    const entry = make("li", "");
    const button = make("button", "why");
    const answer = make("p", "reason");
    button.type = "button";
    button.append(make("span", "", title), make("small", "", "Why?"));
    button.setAttribute("aria-expanded", "false");
    answer.hidden = true;
    button.addEventListener("click", () => {
      answer.hidden = !answer.hidden;
      button.setAttribute("aria-expanded", String(!answer.hidden));
      if (!answer.hidden) answer.textContent = this.explain(id);
    });
    entry.append(button, answer);
    return entry;
  }
}

function blockSummary(shown: number, repeats: number, stopped: number): string {
  if (stopped > 0) return `${String(shown)} shown, ${String(stopped)} stopped`;
  return repeats > 0 ? `${String(shown)} shown, ${plural(repeats, "repeat")}` : `${String(shown)} shown`;
}

function itemElement({ id, title, url, seenAt }: ShownItem): HTMLElement {
  const element = make("li", seenAt === undefined ? "item" : "item repeat");
  element.dataset.seenId = id;
  const picture = make(
    "span",
    "picture",
    title
      .replace(/^[^\p{L}\p{N}]+/u, "")
      .charAt(0)
      .toUpperCase(),
  );
  picture.setAttribute("aria-hidden", "true");
  picture.style.setProperty("--hue", String(hueOf(id)));
  const [, name = title, kind = "Wikipedia article"] = /^(.+?)(?: \((.+)\))?$/.exec(title) ?? [];
  const link = make("a", "", name);
  link.href = url;
  link.rel = "noreferrer";
  const note = make("small", "note", seenAt === undefined ? kind : `Repeat: you saw it ${ago(seenAt)}`);
  const text = make("div", "text");
  text.append(link, note);
  element.append(picture, text);
  return element;
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
