/**
 * The state of one reader's experiment, which survives reloads: the reader, the feed's turn, the counts, and an exact
 * record of what this person has seen, the oracle for both feeds. It is independent of the guard.
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
  /** Items that the feed offered again, and that were stopped. */
  stopped: number;
  /** Of these, the items that the server left out because another device had shown them. */
  elsewhere: number;
  /** Items that the guard stopped though this person had never seen them: its false positives. */
  mistaken: number;
  /** Snapshots that arrived after newer ones, and were refused. */
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

interface StoredExperiment extends RecordEntries {
  readonly turn: number;
  readonly tabs: readonly TabCounts[];
}

/** A message to other tabs. */
type Message = Partial<StoredExperiment>;

/**
 * Impressions of another tab's guard reach this one's within a second. The page's record is later, also on a busy machine,
 * so that an item that was on two screens at the same moment does not count as a repeat.
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
    const stored = readStored(this.key);
    this.turn = stored?.turn ?? 0;
    this.tabs = new Map(stored?.tabs);
    this.record.merge(stored ?? {});
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
    this.broadcast({ tabs: [[this.tab, own]] });
  }

  /** Each page of the feed is a turn of its own. */
  nextTurn(): number {
    this.turn += 1;
    this.save();
    this.broadcast({ turn: this.turn });
    return this.turn;
  }

  /** The item with these ids was in view for long enough. */
  saw(ids: readonly string[]): void {
    const atMs = Date.now();
    this.note({ seen: ids.map((id) => [id, atMs]) });
  }

  /** The person wants to see the item with these ids again. */
  unsee(ids: readonly string[]): void {
    const atMs = Date.now();
    this.note({ unseen: ids.map((id) => [id, atMs]) });
  }

  /** Applies unseen ids and deletions of other devices, which a snapshot contains. */
  applied({ unseen = [], forgetBefore = 0 }: Snapshot): void {
    const forgottenAtMs = Math.min(forgetBefore * 1000, Date.now());
    this.record.merge({ unseen: unseen.map(({ id, at }) => [id, at]), forgottenAtMs });
  }

  /** The time at which the person saw the item last. */
  seenAt(ids: readonly string[]): number | undefined {
    return this.record.seenAt(ids);
  }

  private note(entries: Partial<RecordEntries>): void {
    this.record.merge(entries);
    this.save();
    this.broadcast(entries);
  }

  /** `changed` is called whenever another tab of this reader has changed the counts. */
  onOtherTab(changed: () => void): void {
    this.others.addEventListener("message", ({ data }: MessageEvent<Message>) => {
      this.turn = Math.max(this.turn, data.turn ?? 0);
      for (const [tab, counts] of data.tabs ?? [])
        this.tabs.set(tab, combined(this.tabs.get(tab) ?? NOTHING, counts, Math.max));
      this.record.merge({ unseen: data.unseen ?? [] });
      setTimeout(() => this.record.merge(data), OTHER_TAB_MARGIN_MS);
      changed();
    });
  }

  /** Stores the experiment, merged with that of other tabs. */
  save(): void {
    const stored = readStored(this.key);
    const tabs = new Map([...(stored?.tabs ?? []), ...this.tabs]);
    const record = new SeenRecord();
    for (const entries of [stored ?? {}, this.record.entries()]) record.merge(entries);
    const all: StoredExperiment = {
      turn: Math.max(this.turn, stored?.turn ?? 0),
      tabs: [...tabs],
      ...record.entries(),
    };
    try {
      localStorage.setItem(this.key, JSON.stringify(all));
    } catch {
      // Without storage the experiment lasts as long as the page; the guard reports its own trouble.
    }
  }

  private broadcast(message: Message): void {
    this.others.postMessage(message);
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

/** This tab's name, which survives a reload. */
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

function readStored(key: string): StoredExperiment | undefined {
  try {
    const text = localStorage.getItem(key);
    const stored = text === null ? undefined : (JSON.parse(text) as Partial<StoredExperiment>);
    return stored?.tabs === undefined ? undefined : (stored as StoredExperiment);
  } catch {
    return undefined;
  }
}

/** The reader in the address, else the one of the last visit, else a new one; writes it into the address. */
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

/** Names like `amber-otter-4f2`: easy to distinguish, unlikely to repeat. */
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
