/** The content of a panel. */
import type { GuardStats, SeenGuard } from "../types/seenguard.js";
import { make, write } from "./elements.js";
import { FactList, MAIN_FACTS, OTHER_FACTS, stoppedOf } from "./facts.js";
import { count, detailOf, kindOf, shortened } from "./format.js";
import { ItemList, type ListedItem } from "./item-list.js";
import { LagPlot } from "./lag-plot.js";
import type { Monitor } from "./monitor.js";

const MAX_PENDING = 50;

export class PanelView {
  readonly root: HTMLElement;
  readonly details: HTMLDetailsElement;
  private readonly label = make("span", "label");
  private readonly badge = make("span", "badge");
  private readonly trouble = make("p", "trouble");
  private readonly mainFacts = new FactList("main-facts", MAIN_FACTS);
  private readonly plot = new LagPlot();
  private readonly stopped: ItemList;
  private readonly pending: ItemList;
  private readonly otherFacts = new FactList("facts", OTHER_FACTS);
  private readonly body: HTMLElement;
  /** A live region for the user's actions, not for automatic changes. */
  private readonly status = make("p", "visually-hidden");

  /** `onUnsee` makes all ids of an item unseen, and returns whether it was stopped. */
  constructor(onUnsee: (ids: readonly string[]) => boolean) {
    const unsee = (ids: readonly string[]) => {
      const outcome = onUnsee(ids) ? "is unseen: it passes again" : "was not stopped any more";
      write(this.status, `${shortened(ids[0] ?? "")} ${outcome}.`);
    };
    this.stopped = new ItemList("Stopped lately", unsee);
    this.pending = new ItemList("Pending", unsee);
    const lag = make("section", "", make("h3", "", "Stream lag"), this.plot.root);
    this.body = make("div", "body", this.mainFacts.root, lag, this.stopped.root, this.pending.root);
    this.body.append(this.otherFacts.root);
    this.status.setAttribute("role", "status");
    const summary = make("summary", "", make("h2", "", "Seenguard"), this.label, this.badge);
    this.details = make("details", "", summary, this.trouble, this.body);
    this.root = make("section", "", this.details, this.status);
  }

  name(label: string): void {
    write(this.label, label);
    this.root.setAttribute("aria-label", `Seenguard ${label}`.trim());
  }

  show(monitor: Monitor | undefined): void {
    const stats = monitor?.guard.stats();
    const trouble = troubleOf(monitor, stats);
    write(this.trouble, trouble);
    this.trouble.hidden = trouble === "";
    const isClosed = monitor?.isClosed ?? true;
    this.body.hidden = isClosed;
    write(this.badge, stats && !isClosed ? `${count(stats.pending)} pending` : "");
    if (monitor && stats && !isClosed && this.details.open) this.showAll(monitor, stats);
  }

  private showAll(monitor: Monitor, stats: GuardStats): void {
    const { guard } = monitor;
    this.mainFacts.show(stats, monitor);
    this.otherFacts.show(stats, monitor);
    this.plot.show(monitor, stats.pending);
    const stopped = monitor.stopped.map(({ ids, id, why }) => {
      const detail = detailOf(why);
      return { ids, kind: kindOf(why), detail: id === ids[0] ? detail : `${detail}, by its id ${shortened(id)}` };
    });
    this.stopped.show(stopped, stoppedInWords(monitor));
    const pending = guard.pending(MAX_PENDING);
    this.pending.show(
      pending.map((id) => pendingItem(guard, id)),
      pendingInWords(pending.length, stats),
    );
  }
}

/** The guard's problem in words; "" if there is none. */
function troubleOf(monitor: Monitor | undefined, stats: GuardStats | undefined): string {
  if (!monitor || !stats) return "There is no guard to show yet.";
  if (monitor.isClosed) return "This guard is closed: everything passes.";
  if (stats.engine === "none") return "This guard has no engine: everything passes.";
  if (stats.storage === "full") return "The storage is full: new impressions are only in the memory of this tab.";
  return stats.storage === "unavailable" ? "There is no storage: impressions are only in the memory of this tab." : "";
}

function stoppedInWords(monitor: Monitor): string {
  const { lastCall, stoppedBy } = monitor;
  const kinds = Object.entries(stoppedBy).filter(([, number]) => number > 0);
  const last = lastCall ? ` The last call stopped ${count(lastCall.stopped.length)} of ${count(lastCall.items)}.` : "";
  if (kinds.length === 0) return `Nothing was stopped.${last}`;
  const parts = kinds.map(([kind, number]) => `${count(number)} ${kind}`).join(", ");
  return `${count(stoppedOf(monitor))} in all: ${parts}.${last}`;
}

function pendingItem(guard: SeenGuard, id: string): ListedItem {
  return { ids: [id], detail: detailOf(guard.explain(id)) };
}

function pendingInWords(shown: number, { pending }: GuardStats): string {
  if (pending === 0) return "The server knows all that was seen here.";
  return shown < pending ? `The oldest ${count(shown)} of ${count(pending)}.` : "No snapshot contains these yet.";
}
