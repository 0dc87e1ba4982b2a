/**
 * What the page keeps of one reader's experiment, over reloads: who reads, how far the feed has come, the counts, and
 * an exact record of what this person has seen, the oracle that both feeds are judged by. The guard knows nothing of it.
 */
export type Side = "unguarded" | "guarded";

export interface Counts {
  impressions: number;
  repeats: Record<Side, number>;
  /** Items that the feed offered again, and the guard kept back. */
  stopped: number;
  /** Items that the guard kept back though this person had never seen them: its false positives. */
  mistaken: number;
  shardBytes: number;
}

interface Kept {
  turn: number;
  counts: Counts;
  seen: [id: string, atMs: number][];
}

export class Experiment {
  readonly user: string;
  readonly counts: Counts;
  private turn: number;
  private readonly seen: Map<string, number>;

  constructor(user: string) {
    this.user = user;
    const kept = readKept(this.key);
    this.turn = kept?.turn ?? 0;
    this.counts = kept?.counts ?? {
      impressions: 0,
      repeats: { unguarded: 0, guarded: 0 },
      stopped: 0,
      mistaken: 0,
      shardBytes: 0,
    };
    this.seen = new Map(kept?.seen);
  }

  /** Each page of the feed is a turn of its own. */
  nextTurn(): number {
    this.turn += 1;
    this.keep();
    return this.turn;
  }

  /** The person has looked at the item for long enough. */
  saw(id: string): void {
    this.seen.set(id, Date.now());
    this.keep();
  }

  /** When the person saw the item last. */
  seenAt(id: string): number | undefined {
    return this.seen.get(id);
  }

  keep(): void {
    const { turn, counts } = this;
    const kept: Kept = { turn, counts, seen: [...this.seen] };
    try {
      localStorage.setItem(this.key, JSON.stringify(kept));
    } catch {
      // Without storage the experiment lasts as long as the page; the guard reports its own trouble.
    }
  }

  private get key(): string {
    return `demo-experiment:${this.user}`;
  }
}

function readKept(key: string): Kept | undefined {
  try {
    const text = localStorage.getItem(key);
    return text === null ? undefined : (JSON.parse(text) as Kept);
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

/** Names like `amber-otter-4f2`: easy to tell apart, hard to meet twice. */
export function newReader(): string {
  const pick = (words: readonly string[]): string => words[Math.floor(Math.random() * words.length)] ?? "";
  const number = Math.floor(Math.random() * 46_656)
    .toString(36)
    .padStart(3, "0");
  const reader = `${pick(["amber", "azure", "coral", "ivory", "jade", "olive", "pearl", "umber"])}-${pick(["finch", "heron", "lynx", "marten", "otter", "raven", "tern", "vole"])}-${number}`;
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
