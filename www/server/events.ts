/**
 * What travels in the stream: one event for each item that was seen, or is unseen.
 *
 * A device's clock may be off, and only a report's arrival shows by how much. `SeenStore.accept` translates its times to
 * the server's clock, so a consumer may take the events in as late as it likes.
 */
import type { Impression, ReceivedReport, ShardChain } from "seenguard/server";

export interface SeenEvent {
  readonly kind: "seen" | "unseen";
  readonly id: string;
  /** Unix milliseconds of the server's clock. */
  readonly at: number;
}

/** The events of a received report, in its order. Half of a character is U+FFFD, as it is to every shard. */
export function eventsOf({ impressions, unseen }: ReceivedReport): SeenEvent[] {
  const event = (kind: SeenEvent["kind"], { id, at }: Impression): SeenEvent => ({
    kind,
    id: Buffer.from(id).toString(),
    at,
  });
  return [...impressions.map((seen) => event("seen", seen)), ...unseen.map((taken) => event("unseen", taken))];
}

/** The chain takes in events, in whatever order they come. */
export function takeEvents(chain: ShardChain, events: readonly SeenEvent[]): void {
  chain.ingest(reportOf(events, "stream"));
}

/** Events as a report that has just been received. */
export function reportOf(events: readonly SeenEvent[], namespace: string): ReceivedReport {
  const ofKind = (kind: SeenEvent["kind"]): Impression[] =>
    events.filter((event) => event.kind === kind).map(({ id, at }) => ({ id, at }));
  return { namespace, receivedAt: Date.now(), impressions: ofKind("seen"), unseen: ofKind("unseen") };
}
