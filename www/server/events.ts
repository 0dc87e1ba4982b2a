/**
 * What travels in the stream: one event for each item that was seen, or taken back.
 *
 * A device's clock may be off, and only a report's arrival shows by how much. So the events of a report carry the
 * server's time, and a consumer may take them in as late as it likes.
 */
import type { Impression, Report, ShardChain } from "seenguard/server";

export interface SeenEvent {
  readonly kind: "seen" | "unseen";
  readonly id: string;
  /** Unix milliseconds of the server's clock. */
  readonly at: number;
}

/** The events of a report that arrives now, in its order. */
export function eventsOf({ now: sentAt, impressions, unseen = [] }: Report, arrivedAt = Date.now()): SeenEvent[] {
  const event = (kind: SeenEvent["kind"], { id, at }: Impression): SeenEvent => {
    const translated = at + arrivedAt - sentAt;
    return { kind, id, at: Math.max(0, Math.min(Math.round(translated), arrivedAt)) };
  };
  return [...impressions.map((seen) => event("seen", seen)), ...unseen.map((taken) => event("unseen", taken))];
}

/** The chain takes in events, in whatever order they come. */
export function takeEvents(chain: ShardChain, events: readonly SeenEvent[]): void {
  const now = Date.now();
  const ofKind = (kind: SeenEvent["kind"]): Impression[] =>
    events.filter((event) => event.kind === kind).map(({ id, at }) => ({ id, at }));
  const report = { namespace: "stream", now, impressions: ofKind("seen"), unseen: ofKind("unseen") };
  chain.take(report, { now: now / 1000 });
}
