/**
 * The demo's page: opens the guard for a reader, and connects feeds, stream and counters.
 *
 *     ?user=NAME   the reader; by default a random name, which is stored
 *     ?dwell=200   the dwell time in milliseconds; default 1000
 *     ?phone       shows a second device next to this one; `?device=phone` is that device
 *     ?storage=local   stores impressions in localStorage, which is small enough to be filled on every device
 */
import { SeenGuard, type SeenGuardError } from "seenguard";
import "seenguard/devtools";
import { Api } from "./api.ts";
import { one } from "./column.ts";
import { Conditions } from "./conditions.ts";
import { writeCounters } from "./counters.ts";
import { device, phoneStorage, smallStorage } from "./device.ts";
import { Experiment, currentReader, newReader } from "./experiment.ts";
import { Feeds } from "./feeds.ts";
import { showPool, wireHistory } from "./history.ts";
import { StoredList } from "./stored-list.ts";
import { clearNotice, notify, notifyServerTrouble as onTrouble } from "./notices.ts";
import { wirePhone } from "./phone.ts";
import { StreamPanel } from "./stream.ts";
import { ViewabilityOracle } from "./viewability-oracle.ts";

const DEFAULT_DWELL_MS = 1000;
const REPORT_INTERVAL_MS = 1000;

async function start(): Promise<void> {
  document.documentElement.dataset.device = device;
  const experiment = new Experiment(currentReader());
  const address = new URL(location.href).searchParams;
  const dwellMs = Number(address.get("dwell")) || DEFAULT_DWELL_MS;
  const api = new Api(experiment.user);
  const guard = await SeenGuard.open({
    namespace: `demo:${experiment.user}`,
    storage: device === "phone" ? phoneStorage : address.get("storage") === "local" ? smallStorage : "indexeddb",
    onError: notifyGuardTrouble,
  });
  const oracle = new ViewabilityOracle(dwellMs, (element) => {
    experiment.saw(idsOfElement(element));
    element.classList.add("looked-at");
  });

  /** Called after each response of the server. */
  const responded = (): void => {
    clearNotice("server");
    writeCounters(guard, experiment);
  };
  const stored = new StoredList(experiment.user);
  const feeds = new Feeds({ api, guard, experiment, oracle, stored, onTrouble, onPage: responded });
  observe(guard, feeds, experiment, dwellMs);
  guard.report({ url: api.impressionsUrl, intervalMs: REPORT_INTERVAL_MS });
  experiment.onOtherTab(() => {
    feeds.writeScores();
    writeCounters(guard, experiment);
  });
  new Conditions({ api, guard, onTrouble });
  new StreamPanel({
    api,
    guard,
    onStatus: ({ snapshot }) => {
      const applied = snapshot === undefined || guard.apply(snapshot).applied;
      if (snapshot !== undefined && applied) experiment.applied(snapshot);
      responded();
      void feeds.startIfEmpty();
      return applied;
    },
    onTrouble,
  });
  wireHistory({ api, feeds, onTrouble });
  wireReader(experiment.user);
  wireFeedButtons(feeds);
  if (device === "desk") wirePhone();
  wirePanels(guard, feeds);
  writeCounters(guard, experiment);
  if (feeds.restore()) showPool(feeds);
  else await feeds.refresh();
}

/** The guard records all items that this device shows, in either feed. */
function observe(guard: SeenGuard, feeds: Feeds, experiment: Experiment, dwellMs: number): void {
  guard.observe(one(document, "#feeds"), {
    dwellMs,
    idsOf: (_id, element) => idsOfElement(element),
    onImpression: (id) => {
      if (!feeds.isFirstView(id)) return;
      experiment.add({ impressions: 1 });
      writeCounters(guard, experiment);
    },
  });
}

/** All ids of the item that an element shows. */
function idsOfElement(element: Element): string[] {
  return ["data-seen-id", "data-group-id"].flatMap((name) => element.getAttribute(name) ?? []);
}

/** A failed delivery is a problem of the server, whose next response clears the notice. */
function notifyGuardTrouble(error: SeenGuardError): void {
  if (error.code === "delivery") onTrouble(new Error("Impressions cannot be delivered now"));
  else notify(`guard ${error.code}`, `Seenguard reports ${error.code}: ${error.message}`);
}

function wireReader(reader: string): void {
  one(document, "#reader").textContent = reader;
  one(document, "#new-reader").addEventListener("click", () => {
    const address = new URL(location.href);
    address.searchParams.set("user", newReader());
    location.assign(address);
  });
}

function wireFeedButtons(feeds: Feeds): void {
  one(document, "#refresh").addEventListener("click", () => void feeds.refresh());
  one(document, "#more").addEventListener("click", () => void feeds.more());
  const views = [...document.querySelectorAll<HTMLButtonElement>("button.view")];
  for (const view of views) {
    view.addEventListener("click", () => {
      one(document, "#feeds").setAttribute("data-view", view.dataset.view ?? "guarded");
      for (const other of views) other.setAttribute("aria-pressed", String(other === view));
    });
  }
}

/** An item made unseen in the guard's panel is not a repeat when it is shown again. */
function wirePanels(guard: SeenGuard, feeds: Feeds): void {
  const panel = document.querySelector("seenguard-panel");
  if (panel === null) throw new Error("the page has no panel of the guard");
  panel.guard = guard;
  panel.addEventListener("seenguard-unsee", ({ detail }) => feeds.noteUnseen(detail.ids));
  openOnDesk(panel, one(document, "#panel") as HTMLDetailsElement);
}

/** There is room for the panels on a desk; on a phone they open on demand. */
function openOnDesk(...panels: { open: boolean }[]): void {
  const desk = matchMedia("(min-width: 64rem)");
  const open = (): void => {
    for (const panel of panels) panel.open = desk.matches;
  };
  desk.addEventListener("change", open);
  open();
}

start().catch((error: unknown) => {
  notify("start", `The demo could not start: ${String(error)}`);
});
