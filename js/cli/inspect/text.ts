/** The output of `inspect` for people. */
import type { ShardFormat } from "../../types/seenguard.js";
import type { FilterReport } from "../../server/inspection.ts";
import { line, rate, whole } from "../command.ts";
import type { Inspected, InspectedShard } from "./inspect.ts";

export function asText(inspected: Inspected): string {
  const { snapshot, shards, has, falsePositiveRate } = inspected;
  const blocks = shards.map(shardBlock);
  if (snapshot) {
    const facts = [
      ...(snapshot.version === undefined ? ["without a version"] : [`version ${String(snapshot.version)}`]),
      ...(snapshot.now === undefined ? [] : [`server's clock ${date(snapshot.now)}`]),
    ];
    blocks.unshift([`snapshot, ${facts.join(", ")}: ${counted(shards.length, "shard")}`]);
  }
  if (shards.length > 1) blocks.push([`all shards together: false positive rate ${rate(falsePositiveRate)}`]);
  if (has.length > 0) {
    const lines = has.map(({ id, contained, shards }) => {
      const where = shards.map(String).join(", ");
      return line(
        shown(id),
        contained ? `contained, in shard${shards.length > 1 ? "s" : ""} ${where}` : "not contained",
      );
    });
    blocks.push(["ids", ...lines]);
  }
  return `${blocks.map((lines) => lines.join("\n")).join("\n\n")}\n`;
}

function shardBlock(shard: InspectedShard): string[] {
  const { index, format, filters = [], expired, error } = shard;
  const title = `shard ${String(index)}${format === undefined ? "" : `: ${nameOf(format)}`}`;
  if (error) return [title, line("damaged", error.message)];
  const several = filters.length > 1;
  const each = filters.flatMap((filter, number) => [
    ...(several ? [`  filter ${String(number + 1)} of ${String(filters.length)}`] : []),
    ...filterLines(filter, expired === true),
  ]);
  const rates = several ? [line("all filters", `false positive rate ${rate(shard.falsePositiveRate ?? 0)}`)] : [];
  return [title, ...each, ...rates, line("size", sizeOf(shard))];
}

function filterLines(filter: FilterReport, expired: boolean): string[] {
  const { count, seed, epoch, expires } = filter;
  const expiry = expires === 0 ? "never" : `${date(expires ?? 0)}${expired ? ": expired, so it contains nothing" : ""}`;
  return [
    line("bits (m)", whole(filter.bits)),
    line("hashes (k)", whole(filter.hashes)),
    line("count", count === undefined ? "not stored in this format" : whole(count)),
    line("fill", `${(100 * filter.fill).toPrecision(3)}% (${whole(filter.setBits)} bits set)`),
    line("estimated items", items(filter.estimatedItems)),
    line("false positive rate", rate(filter.falsePositiveRate)),
    ...(seed === undefined ? [] : [line("seed", seed)]),
    ...(epoch === undefined ? [] : [line("epoch", String(epoch))]),
    ...(expires === undefined ? [] : [line("expiry", expiry)]),
    line("encoding", filter.encoding === "rice" ? "Rice" : "raw"),
  ];
}

function sizeOf({ bytes = 0, informationLimitBits = 0 }: InspectedShard): string {
  const size = `${whole(bytes)} bytes`;
  if (informationLimitBits === 0) return size;
  const times = (8 * bytes) / informationLimitBits;
  return `${size}, ${times.toPrecision(3)} times the information limit n·log2(1/ε) of ${whole(Math.ceil(informationLimitBits / 8))} bytes`;
}

const items = (value: number): string => value.toLocaleString("en", { maximumFractionDigits: value < 100 ? 1 : 0 });
const date = (seconds: number): string => new Date(seconds * 1000).toISOString().replace(".000Z", "Z");
const counted = (count: number, noun: string): string => `${whole(count)} ${noun}${count === 1 ? "" : "s"}`;
const nameOf = (format: ShardFormat): string => (typeof format === "string" ? format : format.kind);

/** The id, in quotes if a terminal would not show it exactly. */
function shown(id: string): string {
  return /^[\p{L}\p{M}\p{N}\p{P}\p{S}]+$/u.test(id) ? id : JSON.stringify(id);
}
