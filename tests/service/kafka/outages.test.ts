/**
 * The service over a real broker that is killed or stopped while people read, and over consumers of which one is killed:
 * acknowledged reports are in the chains, in order.
 */
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { RunningService } from "../../../scripts/lib/service.mjs";
import { until } from "../../support/processes.ts";
import { ANSWER_MS, deploy, pageOf, type Deployment } from "./deployment.ts";
import { Person } from "./person.ts";

const PEOPLE = 8;
const PARTITIONS = 6;
/** The number of reports of each person before a failure, and after it. */
const REPORTS = 12;
const STOPPED_MS = 15_000;

let deployment: Deployment;
let consumer: RunningService;
beforeAll(async () => {
  deployment = await deploy(PARTITIONS);
  consumer = await deployment.consume();
});
afterAll(() => deployment.stop());

/** People read before, during and after a failure. Returns how many reports were refused. */
async function whilePeopleRead(name: string, happens: (people: readonly Person[]) => Promise<void>): Promise<number> {
  const people = Array.from({ length: PEOPLE }, (_, index) => new Person(deployment.service, `${name}-${index}`));
  let isOver = false;
  const reading = Promise.all(people.map((person) => person.readUntil(() => isOver)));
  const happening = (async () => {
    await allHaveReported(people);
    await happens(people);
    await allHaveReported(people);
  })().finally(() => (isOver = true));
  await Promise.all([reading, happening]);
  await deployment.caughtUp();
  for (const person of people) await person.expectNoRepeats();
  return refusals(people);
}

const refusals = (people: readonly Person[]) => people.reduce((sum, { refused }) => sum + refused, 0);

async function allHaveReported(people: readonly Person[]): Promise<void> {
  const goals = people.map(({ acknowledged }) => acknowledged + REPORTS);
  const isThere = () => people.every(({ acknowledged }, index) => acknowledged >= (goals[index] ?? 0));
  await until("each person has reported", () => Promise.resolve(isThere()), 180_000);
}

test("a broker that is killed and restarted has lost no acknowledged report", async () => {
  const refused = await whilePeopleRead("killed", async (people) => {
    await deployment.broker.kill();
    await until("each person is refused", () => Promise.resolve(people.every((person) => person.refused > 0)));
    await deployment.broker.restart();
  });
  expect(refused).toBeGreaterThanOrEqual(PEOPLE);
});

test("while a broker is stopped for 15 s, reports are refused and pages are filled; afterwards reports are accepted again", async () => {
  const refused = await whilePeopleRead("stopped", async ([person]) => {
    deployment.broker.pause();
    const waking = pause(STOPPED_MS);
    await pageOf(deployment.service, person?.user ?? "", ["a"]);
    await waking;
    deployment.broker.resume();
  });
  expect(refused).toBeGreaterThan(0);
});

test("two consumers share the partitions, and one takes over the other's records in order when it is killed", async () => {
  const other = await deployment.consume();
  await eachHasAPart(consumer, other);
  await whilePeopleRead("shared", () => consumer.stop("SIGKILL"));
  expect(await assigned(other)).toBe(PARTITIONS);
  consumer = other;
});

test("a stopped consumer is removed from its group, and gets partitions again once it continues", async () => {
  const other = await deployment.consume();
  await eachHasAPart(consumer, other);
  await whilePeopleRead("given-up", async () => {
    consumer.process.kill("SIGSTOP");
    await until("the other has all", async () => (await assigned(other)) === PARTITIONS, 60_000);
    consumer.process.kill("SIGCONT");
    await eachHasAPart(consumer, other);
  });
});

async function assigned({ url }: RunningService): Promise<number> {
  const text = await (await fetch(`${url}/metrics`, { signal: AbortSignal.timeout(ANSWER_MS) })).text();
  return Number(/^seenguard_kafka_assigned_partitions (\d+)$/m.exec(text)?.[1] ?? 0);
}

async function eachHasAPart(...consumers: readonly RunningService[]): Promise<void> {
  await until("each has a part", async () => {
    const counts = await Promise.all(consumers.map(assigned));
    return counts.every((count) => count > 0) && counts.reduce((sum, count) => sum + count) === PARTITIONS;
  });
}
