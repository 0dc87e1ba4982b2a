/** The command line of `seenguard inspect`. */
import { parseArgs } from "node:util";
import { describe, SeenGuardError } from "../js/errors.ts";
import { checkFormat } from "../js/format.ts";
import type { ShardFormat } from "../js/types/seenguard.js";

export const HELP = `Tells what a Bloom shard or a snapshot holds.

  seenguard inspect [OPTIONS] [SHARD | FILE | -]... [--has ID...]

Reads a shard's text, a file or the standard input (-, and the default):
a snapshot as JSON, an answer that has one as "seen", a list of shards as JSON,
or one shard a line, as LRANGE prints them.

  --format NAME       seenguard, guava, bits-and-blooms, redisbloom or go-bloomfilter;
                      else a snapshot's own, and for bare shards what they look like
  --hashes K          of go-bloomfilter, whose records do not tell it: k, or ...
  --capacity N        ... the items a filter is made for, and ...
  --rate E            ... its false positive rate
  --has ID...         what is answered for these ids
  --json              for machines
  --help

Of RedisBloom, a shard is its BF.SCANDUMP chunks as base64, joined by commas, or
as a list in JSON. What follows --has are ids, up to the next option; an id that
begins with a dash is given as --has=-id.

Ends with 0; with 1 if something is damaged; with 2 if it was called wrongly.
`;

export interface Options {
  readonly help: boolean;
  readonly json: boolean;
  readonly format: ShardFormat | undefined;
  /** Shards, files, or "-". */
  readonly inputs: readonly string[];
  readonly has: readonly string[];
}

export function badUsage(message: string): SeenGuardError {
  return new SeenGuardError("bad-option", `${message}; see seenguard inspect --help`);
}

/** Throws `bad-option`. */
export function parseOptions(args: readonly string[]): Options {
  const { values, inputs, has } = parse(args);
  const [command, ...rest] = inputs;
  if (values.help !== true && command !== "inspect") {
    throw badUsage(command === undefined ? "what to do is missing" : `there is no command ${JSON.stringify(command)}`);
  }
  return {
    help: values.help === true,
    json: values.json === true,
    format: values.help === true ? undefined : formatOf(values),
    inputs: rest,
    has,
  };
}

type Values = ReturnType<typeof parse>["values"];

function parse(args: readonly string[]) {
  try {
    const { values, tokens } = parseArgs({
      args: [...args],
      allowPositionals: true,
      tokens: true,
      options: {
        help: { type: "boolean", short: "h" },
        json: { type: "boolean" },
        format: { type: "string" },
        hashes: { type: "string" },
        capacity: { type: "string" },
        rate: { type: "string" },
        has: { type: "string", multiple: true },
      },
    });
    const [inputs, has]: [string[], string[]] = [[], []];
    let isId = false;
    for (const token of tokens) {
      if (token.kind === "positional") (isId ? has : inputs).push(token.value);
      else isId = token.kind === "option" && token.name === "has";
      if (token.kind === "option" && token.name === "has") has.push(token.value);
    }
    return { values, inputs, has };
  } catch (error) {
    throw badUsage(describe(error));
  }
}

/** The numbers of go-bloomfilter name it, too. */
function formatOf({ format, hashes, capacity, rate }: Values): ShardFormat | undefined {
  const numbers = {
    ...(hashes === undefined ? {} : { hashes: Number(hashes) }),
    ...(capacity === undefined ? {} : { capacity: Number(capacity) }),
    ...(rate === undefined ? {} : { falsePositiveRate: Number(rate) }),
  };
  const isGo = format === "go-bloomfilter" || (format === undefined && Object.keys(numbers).length > 0);
  if (!isGo && Object.keys(numbers).length > 0)
    throw badUsage("--hashes, --capacity and --rate belong to go-bloomfilter: the other formats tell theirs");
  const named: unknown = isGo ? { kind: "go-bloomfilter", ...numbers } : format;
  checkFormat(named, () => {
    throw badUsage(
      isGo
        ? "go-bloomfilter needs what its records do not tell: --hashes (1 to 255), or --capacity and --rate as the filters are made with"
        : `--format is seenguard, guava, bits-and-blooms, redisbloom or go-bloomfilter, not ${JSON.stringify(format)}`,
    );
  });
  return named as ShardFormat | undefined;
}
