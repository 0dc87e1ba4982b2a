/**
 * The demo's page: opens the guard for a reader, and brings feeds, stream and counters together.
 *
 *     ?user=NAME   who reads; made up and kept if it is not given
 *     ?dwell=200   how long an item must be looked at to count, in milliseconds; 1000 if it is not given
 */
import "@fontsource-variable/inter";
import "@picocss/pico/css/pico.min.css";
import "./style.css";
import { SeenGuard, type Snapshot } from "seenguard";
import { Api } from "./api.ts";
import { one } from "./column.ts";
import { Experiment, currentReader, newReader } from "./experiment.ts";
import { Feeds } from "./feeds.ts";
import { Gaze } from "./gaze.ts";
import { Reporter } from "./reporter.ts";
import { StreamPanel } from "./stream.ts";
import { bytes, count, rate } from "./words.ts";

const DEFAULT_DWELL_MS = 1000;

async function start(): Promise<void> {
  const experiment = new Experiment(currentReader());
  const dwellMs = Number(new URL(location.href).searchParams.get("dwell") ?? DEFAULT_DWELL_MS) || DEFAULT_DWELL_MS;
  const api = new Api(experiment.user);
  const guard = await SeenGuard.open({
    namespace: `demo:${experiment.user}`,
    onError: (error) => notify(`guard ${error.code}`, `Seenguard reports ${error.code}: ${error.message}`),
  });
  const showCounters = (): void => {
    writeCounters(guard, experiment);
  };
  const onTrouble = (error: unknown): void =>
    notify(
      "server",
      `${error instanceof Error ? error.message : String(error)}. What you have seen stays on this device; the page keeps trying.`,
    );

  const reporter = new Reporter(api, guard, onTrouble);
  const gaze = new Gaze(dwellMs, (element) => {
    experiment.saw(element.getAttribute("data-seen-id") ?? "");
    element.classList.add("looked-at");
  });

  const received = ({ shards }: Snapshot): void => {
    experiment.counts.shardBytes += shards.flat().reduce((sum, shard) => sum + shard.length, 0);
  };
  const feeds = new Feeds({
    api,
    guard,
    experiment,
    gaze,
    onTrouble,
    onPage: ({ seen }) => {
      received(seen);
      clearNotice("server");
      showCounters();
    },
  });
  // The guard is told of everything that this device shows, whichever feed it is in.
  guard.observe(one(document, "#feeds"), {
    dwellMs,
    onImpression: (id) => {
      if (!feeds.isFirstLook(id)) return;
      experiment.counts.impressions += 1;
      reporter.add(id);
      showCounters();
    },
  });
  new StreamPanel({
    api,
    version: () => guard.version,
    onSeen: (seen) => {
      received(seen);
      guard.apply(seen);
    },
    onStatus: () => {
      clearNotice("server");
      showCounters();
      void feeds.startIfEmpty();
    },
    onTrouble,
  });
  wireButtons(feeds, experiment.user);
  showCounters();
  await feeds.refresh();
}

function wireButtons(feeds: Feeds, reader: string): void {
  one(document, "#reader").textContent = reader;
  one(document, "#refresh").addEventListener("click", () => void feeds.refresh());
  one(document, "#more").addEventListener("click", () => void feeds.more());
  one(document, "#new-reader").addEventListener("click", () => {
    const address = new URL(location.href);
    address.searchParams.set("user", newReader());
    location.assign(address);
  });
  const views = [...document.querySelectorAll<HTMLButtonElement>("button.view")];
  for (const view of views) {
    view.addEventListener("click", () => {
      one(document, "#feeds").setAttribute("data-view", view.dataset["view"] ?? "guarded");
      for (const other of views) other.setAttribute("aria-pressed", String(other === view));
    });
  }
  // There is room for the panel on a desk; on a phone it opens when asked.
  const panel = one(document, "#panel") as HTMLDetailsElement;
  const desk = matchMedia("(min-width: 64rem)");
  const openOnDesk = (): void => void (panel.open = desk.matches);
  desk.addEventListener("change", openOnDesk);
  openOnDesk();
}

function writeCounters(guard: SeenGuard, { counts }: Experiment): void {
  const stats = guard.stats();
  const wrong = 1 - (1 - stats.serverFalsePositiveRate) * (1 - stats.memoryFalsePositiveRate);
  const texts: Record<string, string> = {
    "#count-impressions": count(counts.impressions),
    "#count-repeats-unguarded": count(counts.repeats.unguarded),
    "#count-repeats-guarded": count(counts.repeats.guarded),
    "#count-stopped": count(counts.stopped),
    "#count-pending": count(stats.pending),
    "#count-rate": rate(wrong),
    "#count-mistaken": count(counts.mistaken),
    "#count-bytes": bytes(counts.shardBytes),
    "#pipeline-seen": count(counts.impressions),
    '.view[data-view="unguarded"] b': count(counts.repeats.unguarded),
    '.view[data-view="guarded"] b': count(counts.repeats.guarded),
  };
  for (const [selector, text] of Object.entries(texts)) {
    const element = one(document, selector);
    if (element.textContent !== text) element.textContent = text;
  }
}

/** One notice for each subject, until it is cleared. */
function notify(subject: string, text: string): void {
  const notices = one(document, "#notices");
  const known = [...notices.children].find((notice) => notice.getAttribute("data-subject") === subject);
  if (known?.textContent === text) return;
  const notice = known ?? notices.appendChild(document.createElement("p"));
  notice.setAttribute("data-subject", subject);
  notice.textContent = text;
}

function clearNotice(subject: string): void {
  for (const notice of [...one(document, "#notices").children]) {
    if (notice.getAttribute("data-subject") === subject) notice.remove();
  }
}

start().catch((error: unknown) => {
  notify("start", `The demo could not start: ${String(error)}`);
});
