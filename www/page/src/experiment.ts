/**
 * What the page keeps of one reader's experiment, over reloads: who reads, how far the feed has come, the counts, and
 * an exact record of what this person has seen, the oracle for both feeds. The guard knows nothing of
 * it.
 */
import type { Snapshot } from "seenguard";
import { isOnPhone, onDevice } from "./device.ts";
import { SeenRecord, type RecordEntries } from "./seen-record.ts";

export type Side = "unguarded" | "guarded";

/** Each of them only grows. */
export interface Counts {
  impressions: number;
  repeatsUnguarded: number;
  repeatsGuarded: number;
  /** Items that the feed offered again, and that were kept back. */
  stopped: number;
  /** Of these, what the server left out because another device had shown it. It knows before the record here does. */
  elsewhere: number;
  /** Items that the guard kept back though this person had never seen them: its false positives. */
  mistaken: number;
  /** States of the server that came after newer ones, and were refused. */
  olderStates: number;
}

const NOTHING: Counts = {
  impressions: 0,
  repeatsUnguarded: 0,
  repeatsGuarded: 0,
  stopped: 0,
  elsewhere: 0,
  mistaken: 0,
  olderStates: 0,
};

/** One tab's name, and what was counted in it. */
type TabCounts = [tab: string, counts: Counts];

interface Kept extends RecordEntries {
  readonly turn: number;
  readonly tabs: readonly TabCounts[];
}

/** A message to other tabs. */
type News = Partial<Kept>;

/**
 * What another tab's guard has recorded reaches this one's within a second. The record of the page is later, on a busy
 * machine too, so that no repeat is put down to an item that was on two screens in the same moment.
 */
const OTHER_TAB_MARGIN_MS = 2000;

export class Experiment {
  readonly user: string;
  private readonly tab = tabName();
  private readonly tabs: Map<string, Counts>;
  private readonly record = new SeenRecord();
  private readonly others: BroadcastChannel;
  private turn: number;

  constructor(user: string) {
    this.user = user;
    const kept = readKept(this.key);
    this.turn = kept?.turn ?? 0;
    this.tabs = new Map(kept?.tabs);
    this.record.merge(kept ?? {});
    this.others = new BroadcastChannel(this.key);
  }

  /** Of all of this reader's tabs together. */
  get counts(): Counts {
    return sumOf([...this.tabs.values()]);
  }

  /** Of the tabs of this reader's phones. */
  get phoneCounts(): Counts {
    return sumOf([...this.tabs].filter(([tab]) => isOnPhone(tab)).map(([, counts]) => counts));
  }

  add(change: Partial<Counts>): void {
    const own = combined(this.tabs.get(this.tab) ?? NOTHING, { ...NOTHING, ...change }, (a, b) => a + b);
    this.tabs.set(this.tab, own);
    this.tell({ tabs: [[this.tab, own]] });
  }

  /** Each page of the feed is a turn of its own. */
  nextTurn(): number {
    this.turn += 1;
    this.keep();
    this.tell({ turn: this.turn });
    return this.turn;
  }

  /** The person has looked at the item with these ids for long enough. */
  saw(ids: readonly string[]): void {
    const atMs = Date.now();
    this.note({ seen: ids.map((id) => [id, atMs]) });
  }

  /** The person wants to see the item with these ids again. */
  unsee(ids: readonly string[]): void {
    const atMs = Date.now();
    this.note({ unseen: ids.map((id) => [id, atMs]) });
  }

  /** What other devices have made unseen or deleted comes with the server's state. */
  applied({ unseen = [], forgetBefore = 0 }: Snapshot): void {
    const forgottenAtMs = Math.min(forgetBefore * 1000, Date.now());
    this.record.merge({ unseen: unseen.map(({ id, at }) => [id, at]), forgottenAtMs });
  }

  /** When the person saw the item last. */
  seenAt(ids: readonly string[]): number | undefined {
    return this.record.seenAt(ids);
  }

  private note(entries: Partial<RecordEntries>): void {
    this.record.merge(entries);
    this.keep();
    this.tell(entries);
  }

  /** `changed` is called whenever another tab of this reader has changed the counts. */
  onOtherTab(changed: () => void): void {
    this.others.addEventListener("message", ({ data }: MessageEvent<News>) => {
      this.turn = Math.max(this.turn, data.turn ?? 0);
      for (const [tab, counts] of data.tabs ?? [])
        this.tabs.set(tab, combined(this.tabs.get(tab) ?? NOTHING, counts, Math.max));
      this.record.merge({ unseen: data.unseen ?? [] });
      setTimeout(() => this.record.merge(data), OTHER_TAB_MARGIN_MS);
      changed();
    });
  }

  /** Together with what other tabs have kept meanwhile. */
  keep(): void {
    const kept = readKept(this.key);
    const tabs = new Map([...(kept?.tabs ?? []), ...this.tabs]);
    const record = new SeenRecord();
    for (const entries of [kept ?? {}, this.record.entries()]) record.merge(entries);
    const all: Kept = { turn: Math.max(this.turn, kept?.turn ?? 0), tabs: [...tabs], ...record.entries() };
    try {
      localStorage.setItem(this.key, JSON.stringify(all));
    } catch {
      // Without storage the experiment lasts as long as the page; the guard reports its own trouble.
    }
  }

  private tell(news: News): void {
    this.others.postMessage(news);
  }

  private get key(): string {
    return `demo-experiment:${this.user}`;
  }
}

function sumOf(all: readonly Counts[]): Counts {
  return all.reduce((sum, counts) => combined(sum, counts, (a, b) => a + b), NOTHING);
}

function combined(one: Counts, other: Counts, combine: (a: number, b: number) => number): Counts {
  const result = { ...NOTHING };
  for (const name of Object.keys(NOTHING) as (keyof Counts)[]) result[name] = combine(one[name], other[name]);
  return result;
}

/** The same after a reload. */
function tabName(): string {
  const made = onDevice(String(crypto.getRandomValues(new Uint32Array(1))[0]));
  const key = onDevice("demo-tab");
  try {
    const known = sessionStorage.getItem(key);
    if (known === null) sessionStorage.setItem(key, made);
    return known ?? made;
  } catch {
    return made;
  }
}

function readKept(key: string): Kept | undefined {
  try {
    const text = localStorage.getItem(key);
    const kept = text === null ? undefined : (JSON.parse(text) as Partial<Kept>);
    return kept?.tabs === undefined ? undefined : (kept as Kept);
  } catch {
    return undefined;
  }
}

/** The reader that the address names; else the one of the last visit, else a new one; written into the address. */
export function currentReader(): string {
  const address = new URL(location.href);
  const named = address.searchParams.get("user");
  if (named !== null && /^[A-Za-z0-9_-]{1,64}$/.test(named)) return named;
  const reader = lastReader() ?? newReader();
  address.searchParams.set("user", reader);
  history.replaceState(null, "", address);
  return reader;
}

const COLOURS = ["amber", "azure", "coral", "ivory", "jade", "olive", "pearl", "umber"];
const ANIMALS = ["finch", "heron", "lynx", "marten", "otter", "raven", "tern", "vole"];

/** Names like `amber-otter-4f2`: easy to tell apart, hard to meet twice. */
export function newReader(): string {
  const pick = (words: readonly string[]): string => words[Math.floor(Math.random() * words.length)] ?? "";
  const number = Math.floor(Math.random() * 46_656)
    .toString(36)
    .padStart(3, "0");
  const reader = `${pick(COLOURS)}-${pick(ANIMALS)}-${number}`;
  try {
    localStorage.setItem("demo-reader", reader);
  } catch {
    // The address names the reader, too.
  }
  return reader;
}

function lastReader(): string | undefined {
  try {
    return localStorage.getItem("demo-reader") ?? undefined;
  } catch {
    return undefined;
  }
}
