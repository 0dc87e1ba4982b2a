/** The queue of reports for the consumer, a Redis stream or a Kafka topic, and records in it that cannot be applied. */
import type { Redis } from "ioredis";
import { isCaughtUp, startKafka, type RunningKafka } from "../../../scripts/lib/kafka.mjs";
import { lettersOf, Producer } from "../../../tests/service/flink/reports.ts";
import { until } from "../../../tests/support/processes.ts";
import { Link } from "./link.ts";

export interface Stream {
  /** The flags of programs that use it, and further ones of its consumer. */
  readonly flags: readonly string[];
  readonly consumerFlags: readonly string[];
  /** Whether all records are in the chains or are dead letters. */
  isDrained(): Promise<boolean>;
  /** Appends a record that cannot be applied. Rejects if the append may have failed. */
  send(poison: string): Promise<unknown>;
  deadLetters(): Promise<readonly string[]>;
}

/** The name of the stream or topic. */
export const STREAM = "reports";
const DEAD_LETTERS = "dead-letters";
const GROUP = "seenguard";
const PARTITIONS = 6;
/** The timeout of kcat, which reads the dead letters. */
const READ_MS = 60_000;

/** @param owner connects to the Redis that has the stream now */
export function redisStream(owner: () => Promise<Redis>): Stream {
  return {
    flags: ["--stream", STREAM],
    consumerFlags: ["--claim-seconds", "5"],
    isDrained: async () => {
      const client = await owner();
      const [waiting] = (await client.xpending(STREAM, GROUP)) as [number];
      return waiting === 0 && (await client.xlen(STREAM)) === 0;
    },
    send: async (poison) => (await owner()).xadd(STREAM, "*", "user", "poison", "report", poison),
    deadLetters: async () => {
      const letters = await (await owner()).xrange(`{${STREAM}}:dead`, "-", "+");
      return letters.map(([, fields]) => fields[fields.indexOf("report") + 1] ?? "");
    },
  };
}

/** Starts a broker with a topic, which clients reach through the link. */
export async function kafkaTopic(): Promise<{ stream: Stream; broker: RunningKafka; link: Link }> {
  let link: Link | undefined;
  const broker = await startKafka({ announce: async (port) => (link = await Link.to(port)).port });
  if (link === undefined) throw new Error("the broker announces no port");
  await broker.createTopic(STREAM, PARTITIONS);
  await broker.createTopic(DEAD_LETTERS, 1);
  const stream: Stream = {
    flags: ["--kafka", broker.address, "--kafka-topic", STREAM],
    consumerFlags: ["--kafka-dead-letters", DEAD_LETTERS],
    isDrained: () => isCaughtUp(broker, GROUP, PARTITIONS),
    send: async (poison) => {
      const producer = new Producer(broker.address, STREAM, { keyed: false });
      producer.send("", poison);
      await producer.end();
    },
    deadLetters: async () => {
      let letters: string[] | undefined;
      const read = async () => {
        letters = (await lettersOf(broker.address, DEAD_LETTERS)).map(({ payload }) => payload);
        return true;
      };
      await until("kcat reads the dead letters", read, READ_MS);
      return letters ?? [];
    },
  };
  return { stream, broker, link };
}
