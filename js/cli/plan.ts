/** `npx seenguard plan`: sizes the shards of a feed, and prints their cost in bytes. */
import { parseArgs } from "node:util";
import { describe } from "../errors.ts";
import { costsOf, type ChainCosts, type PlanOptions } from "../server/plan.ts";
import { badUsage, bytes, type Command, line, rate, whole } from "./command.ts";

const HELP = `Sizes the shards of a feed, and prints their cost in bytes.

  seenguard plan --per-day N --window-days N --rate E [OPTIONS]

  --per-day N         average impressions of one user per day; required
  --window-days N     days for which no item is shown again; required
  --rate E            false positive rate of all shards together when they are full,
                      over 0 and under 1; required
  --per-refresh N     impressions between two refreshes; default 10
  --users N           number of users, to print the bytes of all users, too
  --json              prints JSON
  --help              prints this text

No item of the window is dropped, even on days that are busier than the average. The
number of shards is the one with the smallest refresh. Bytes are those of a user whose
shards are all full, for a refresh the mean; 1 KB is 1,000 bytes.

Exit status: 0; 1 if no shards meet the requirements; 2 for wrong arguments.
`;

interface Options extends PlanOptions {
  readonly users: number | undefined;
}

/** The costs of one user, or of all. */
type Bytes = Pick<ChainCosts, "bytesStored" | "bytesFirstPage" | "bytesRefresh">;

export const plan: Command = {
  help: HELP,
  run(args) {
    const { users, ...options } = parseOptions(args);
    const costs = costsOf(options);
    const all = users === undefined ? undefined : { users, ...multiplied(costs, users) };
    return Promise.resolve({
      value: { ...costs, ...(all && { all }) },
      text: asText(costs, options, all),
      failures: [],
    });
  },
};

function parseOptions(args: readonly string[]): Options {
  const values = parse(args);
  const perRefresh = numberOf(values, "per-refresh");
  const [perDay, windowDays, falsePositiveRate] = [
    numberOf(values, "per-day"),
    numberOf(values, "window-days"),
    numberOf(values, "rate"),
  ];
  if (perDay === undefined || windowDays === undefined || falsePositiveRate === undefined)
    throw badUsage("--per-day, --window-days and --rate are required");
  if (falsePositiveRate >= 1) throw badUsage("--rate must be under 1");
  const users = numberOf(values, "users");
  if (users !== undefined && !Number.isSafeInteger(users)) throw badUsage("--users must be a whole number");
  return { perDay, windowDays, falsePositiveRate, ...(perRefresh === undefined ? {} : { perRefresh }), users };
}

type Values = ReturnType<typeof parse>;

function parse(args: readonly string[]) {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        json: { type: "boolean" },
        "per-day": { type: "string" },
        "window-days": { type: "string" },
        rate: { type: "string" },
        "per-refresh": { type: "string" },
        users: { type: "string" },
      },
    });
    return values;
  } catch (error) {
    throw badUsage(describe(error));
  }
}

function numberOf(values: Values, name: Exclude<keyof Values, "json">): number | undefined {
  const { [name]: given } = values;
  if (given === undefined) return undefined;
  const value = Number(given);
  if (!(value > 0 && value < Infinity)) throw badUsage(`--${name} must be a number over 0`);
  return value;
}

function multiplied({ bytesStored, bytesFirstPage, bytesRefresh }: Bytes, users: number): Bytes {
  return {
    bytesStored: users * bytesStored,
    bytesFirstPage: users * bytesFirstPage,
    bytesRefresh: users * bytesRefresh,
  };
}

function asText(costs: ChainCosts, { windowDays }: PlanOptions, all: (Bytes & { users: number }) | undefined): string {
  const { capacity, shards, falsePositiveRate, ttlSeconds, bits, hashes, rateWhenYoung, rateWhenFull } = costs;
  const longest = Number((windowDays * (1 + 1 / (shards - 1))).toPrecision(3));
  const bytesLine = (name: string, which: keyof Bytes) =>
    line(name, bytes(costs[which]) + (all ? `; of ${whole(all.users)} users ${bytes(all[which])}` : ""));
  const options = `{ capacity: ${String(capacity)}, shards: ${String(shards)}, falsePositiveRate: ${String(falsePositiveRate)}, ttlSeconds: ${String(ttlSeconds)} }`;
  const lines = [
    "chain",
    line("shards", whole(shards)),
    line("capacity", `${whole(capacity)} items a shard`),
    line("ttl", `${whole(ttlSeconds)} s: an item is remembered for ${whole(windowDays)} to ${whole(longest)} days`),
    line("bits (m)", `${whole(bits)} a shard, ${whole(shards * bits)} in all`),
    line("hashes (k)", whole(hashes)),
    line("false positive rate", `${rate(rateWhenYoung)} after the first day`),
    line("", `${rate(rateWhenFull)} when all shards are full`),
    "",
    "bytes of a user",
    bytesLine("in the store", "bytesStored"),
    bytesLine("with a first page", "bytesFirstPage"),
    bytesLine("with a refresh", "bytesRefresh"),
    "",
    `redisStore(client, ${options})`,
  ];
  return `${lines.join("\n")}\n`;
}
