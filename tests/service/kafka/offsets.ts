/** What a group of consumers has committed. */
import type { RunningKafka } from "../../../scripts/lib/kafka.mjs";

/** Whether its offsets are the ends of all partitions; a partition without records may have none. */
export async function isTakenIn(broker: RunningKafka, group: string, partitions: number): Promise<boolean> {
  // It fails while there is no such group.
  const described = await broker
    .tool("consumer.group.ConsumerGroupCommand", "--describe", "--group", group)
    .catch(() => "");
  const lines = described.split("\n").filter((line) => line.startsWith(`${group} `));
  const offsets = lines.map((line) => line.split(/ +/).slice(3, 5));
  return offsets.length === partitions && offsets.every(([committed, end]) => committed === end || end === "0");
}
