/**
 * One of those that are measured: it answers the same question as all, "which of these items are new to me?",
 * after a message with seen items as a server would send it. Each has a plain loop of its own: one that all share would
 * call through a function that no engine can inline, and slow down the quickest most.
 */

/** An item of a feed. */
export interface Item {
  readonly id: string;
}

export interface Peer {
  readonly name: string;
  /** What a server sends to say that these ids were seen; one list a shard. */
  message(shards: readonly (readonly string[])[]): Promise<string>;
  /** One that knows no item yet. */
  client(): Promise<Client>;
}

export interface Client {
  /** Knows what this message says, in place of what earlier ones said. */
  take(message: string): void;
  /** The items that are new to it, in their order. */
  fresh(items: readonly Item[]): readonly Item[];
}
