/**
 * A list of items, each with a button that makes it unseen. An item's row, and with it the focus, stays across updates.
 */
import { make, write } from "./elements.js";
import { shortened } from "./format.js";

export interface ListedItem {
  /** The item's ids, its main id first: the argument of `unsee`. */
  readonly ids: readonly string[];
  /** The reason; absent if all items of the list have the same one. */
  readonly kind?: string;
  readonly detail: string;
}

interface Row {
  readonly root: HTMLElement;
  readonly kind: HTMLElement;
  readonly detail: HTMLElement;
  readonly button: HTMLElement;
}

let lists = 0;

export class ItemList {
  readonly root: HTMLElement;
  private readonly heading: HTMLElement;
  private readonly note = make("p", "note");
  private readonly list = make("ul");
  private readonly rows = new Map<string, Row>();
  private readonly onUnsee: (ids: readonly string[]) => void;

  constructor(title: string, onUnsee: (ids: readonly string[]) => void) {
    this.onUnsee = onUnsee;
    this.heading = make("h3", "", title);
    this.heading.id = `list-${++lists}`;
    this.heading.tabIndex = -1;
    // Users who scroll by keyboard must be able to focus it.
    this.list.tabIndex = 0;
    this.list.setAttribute("role", "list");
    this.list.setAttribute("aria-labelledby", this.heading.id);
    this.root = make("section", "", this.heading, this.note, this.list);
  }

  show(items: readonly ListedItem[], note: string): void {
    write(this.note, note);
    this.list.hidden = items.length === 0;
    const keys = new Set(items.map(keyOf));
    for (const [key, { root }] of this.rows) {
      if (keys.has(key)) continue;
      root.remove();
      this.rows.delete(key);
    }
    let next = this.list.firstElementChild;
    for (const item of items) {
      const row = this.rows.get(keyOf(item)) ?? this.makeRow(item);
      // Do not move a row that stays in place: it would lose the focus.
      if (row.root === next) next = next.nextElementSibling;
      else this.list.insertBefore(row.root, next);
      const { kind = "" } = item;
      row.kind.className = `kind ${kind}`;
      row.kind.hidden = kind === "";
      write(row.kind, kind);
      write(row.detail, item.detail);
      row.button.hidden = kind === "duplicate";
    }
  }

  private makeRow(item: ListedItem): Row {
    const name = shortened(keyOf(item));
    const [kind, detail] = [make("span"), make("span")];
    const button = make("button", "", "Unsee");
    button.type = "button";
    button.setAttribute("aria-label", `Unsee ${name}`);
    const root = make("li", "", make("b", "", name), make("small", "", kind, " ", detail), button);
    button.addEventListener("click", () => {
      this.moveFocus(root);
      this.onUnsee(item.ids);
    });
    const row = { root, kind, detail, button };
    this.rows.set(keyOf(item), row);
    return row;
  }

  /** Moves the focus from a removed row to its successor, or to the heading. */
  private moveFocus(row: Element): void {
    const neighbour = row.nextElementSibling ?? row.previousElementSibling;
    const button = neighbour?.querySelector<HTMLElement>("button:not([hidden])");
    (button ?? this.heading).focus();
  }
}

function keyOf({ ids }: ListedItem): string {
  return ids[0] ?? "";
}
