/** People's impressions and unseen ids as records of the topic, and the items that their pages must then leave out. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { setTimeout as wait } from "node:timers/promises";
import { programs } from "../../../scripts/lib/programs.mjs";

const kcat = programs.kcat.find() ?? "kcat";
/** The service's settings: Java's partitioner, acknowledgement by all replicas, retries in order. */
const settings = ["partitioner=murmur2_random", "acks=all", "enable.idempotence=true"].flatMap((each) => ["-X", each]);
/** Neither is part of what is sent. */
const [endOfKey, endOfRecord] = ["\t", "\x1e"];

/** A producer in a process of its own. */
export class Producer {
  private readonly kcat;

  constructor(
    broker: string,
    topic: string,
    private readonly options: { keyed?: boolean; headers?: readonly string[] } = {},
  ) {
    const { keyed = true, headers = ["seenguard=1"] } = options;
    const records = ["-D", endOfRecord, ...(keyed ? ["-K", endOfKey] : []), ...headers.flatMap((each) => ["-H", each])];
    const args = ["-P", "-E", "-b", broker, "-t", topic, ...settings, ...records];
    this.kcat = spawn(kcat, args, { stdio: ["pipe", "inherit", "inherit"] });
  }

  send(user: string | Buffer, report: string | object): void {
    const key = this.options.keyed === false ? [] : [Buffer.from(user), Buffer.from(endOfKey)];
    const value = typeof report === "string" ? report : JSON.stringify(report);
    this.kcat.stdin.write(Buffer.concat([...key, Buffer.from(value + endOfRecord)]));
  }

  /** Waits until the broker has acknowledged all. */
  async end(): Promise<void> {
    this.kcat.stdin.end();
    const [code] = (await once(this.kcat, "exit")) as [number | null];
    if (code !== 0) throw new Error(`kcat ended with ${String(code)}: not all records were acknowledged`);
  }
}

export interface Letter {
  readonly key: string | null;
  readonly payload: string;
  readonly headers: ReadonlyMap<string, string>;
}

/** All records of a topic. */
export async function lettersOf(broker: string, topic: string): Promise<Letter[]> {
  const child = spawn(kcat, ["-C", "-q", "-b", broker, "-t", topic, "-o", "beginning", "-e", "-J"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [output] = await Promise.all([text(child.stdout), once(child, "exit")]);
  return output
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => {
      const { key, payload, headers = [] } = JSON.parse(line) as Omit<Letter, "headers"> & { headers?: string[] };
      const named = headers.flatMap((name, at) => (at % 2 === 0 ? [[name, headers[at + 1] ?? ""] as const] : []));
      return { key, payload, headers: new Map(named) };
    });
}

/** A record of one impression or unseen id. */
export const reportOf = (user: string, kind: "impressions" | "unseen", id: string, at = Date.now()): object => ({
  namespace: `home:${user}`,
  receivedAt: at,
  ...{ impressions: [], unseen: [] },
  [kind]: [{ id, at }],
});

/** Of each person: each third id becomes unseen at once, and each sixth seen again after that. */
const IDS_EACH = 30;

/** The history of each of these people, one record after the other, in rounds. */
export class Histories {
  readonly users: readonly string[];
  /** All records so far, in their order. */
  private readonly done: { kind: "impressions" | "unseen"; index: number }[] = [];

  constructor(name: string, count: number) {
    this.users = Array.from({ length: count }, (_, number) => `${name}-ада-${String(number)}`);
  }

  /** Sends all of it. `afterRound` has the number of the round, of some 45. */
  async send(producer: Producer, afterRound: (round: number) => Promise<void>): Promise<void> {
    for (const [round, step] of Histories.STEPS.entries()) {
      this.done.push(step);
      for (const user of this.users) producer.send(user, reportOf(user, step.kind, idOf(user, step.index)));
      await Promise.all([afterRound(round), wait(ROUND_MS)]);
    }
  }

  static readonly STEPS = Array.from({ length: IDS_EACH }, (_, index) => {
    const seen = { kind: "impressions" as const, index };
    const unseen = { kind: "unseen" as const, index };
    if (index % 6 === 0) return [seen, unseen, seen];
    return index % 3 === 0 ? [seen, unseen] : [seen];
  }).flat();

  /** The ids that a page must offer: all but those that were seen, and not made unseen after that. */
  freshOf(user: string): string[] {
    const latest = new Map(this.done.map(({ kind, index }) => [idOf(user, index), kind]));
    return this.idsOf(user).filter((id) => latest.get(id) !== "impressions");
  }

  idsOf(user: string): string[] {
    return [...Array.from({ length: IDS_EACH }, (_, index) => idOf(user, index)), "fresh"];
  }
}

/** What becomes unseen was seen before by the clock, too. */
const ROUND_MS = 100;

const idOf = (user: string, index: number): string => `article-${user}-${String(index)}`;
