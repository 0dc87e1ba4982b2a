/** The queue of reports for the consumer: a Redis stream or a Kafka topic. */
import type { Cluster, Redis } from "ioredis";
import { lettersOf, Producer } from "../../../tests/service/flink/reports.ts";
import { isCaughtUp, type RunningKafka, startKafka } from "../../../scripts/lib/kafka.mjs";

export interface Stream {
  /** What programs are given that use it, and what its consumer is given besides. */
  readonly flags: readonly string[];
  readonly consumerFlags: readonly string[];
  /** Whether everything that it had is in the chains, or among the dead letters. */
  isDrained(): Promise<boolean>;
  /** Records that no chain takes, if they are sent. */
  readonly poison?: Poison;
}

export interface Poison {
  /** The sent reports. */
  readonly sent: readonly string[];
  /** Resolves when one more is in the stream. */
  send(): Promise<void>;
  deadLetters(): Promise<readonly string[]>;
}

/** The name of the stream or topic. */
export const STREAM = "reports";
const DEAD_LETTERS = "dead-letters";
const GROUP = "seenguard";
const PARTITIONS = 6;

export function redisStream(client: Redis | Cluster): Stream {
  return {
    flags: ["--stream", STREAM],
    consumerFlags: ["--claim-seconds", "5"],
    isDrained: async () => {
      const [waiting] = (await client.xpending(STREAM, GROUP)) as [number];
      return waiting === 0 && (await client.xlen(STREAM)) === 0;
    },
  };
}

/** With a broker of its own, and poison. */
export async function kafkaTopic(): Promise<{ stream: Stream; broker: RunningKafka }> {
  const broker = await startKafka();
  await broker.createTopic(STREAM, PARTITIONS);
  await broker.createTopic(DEAD_LETTERS, 1);
  const sent: string[] = [];
  const poison: Poison = {
    sent,
    send: async () => {
      const text = `poison ${String(sent.length)}`;
      const producer = new Producer(broker.address, STREAM, { keyed: false });
      producer.send("", text);
      await producer.end();
      sent.push(text);
    },
    deadLetters: async () => (await lettersOf(broker.address, DEAD_LETTERS)).map(({ payload }) => payload),
  };
  const stream = {
    flags: ["--kafka", broker.address, "--kafka-topic", STREAM],
    consumerFlags: ["--kafka-dead-letters", DEAD_LETTERS],
    isDrained: () => isCaughtUp(broker, GROUP, PARTITIONS),
    poison,
  };
  return { stream, broker };
}
