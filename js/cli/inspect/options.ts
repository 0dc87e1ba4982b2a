/** The command line of `seenguard inspect`. */
import { parseArgs } from "node:util";
import { describe } from "../../errors.ts";
import { checkFormat } from "../../input/format.ts";
import type { ShardFormat } from "../../types/seenguard.js";
import { badUsage } from "../command.ts";

export interface Options {
  readonly format: ShardFormat | undefined;
  /** Shards, files, or "-". */
  readonly inputs: readonly string[];
  readonly has: readonly string[];
}

/** Throws `bad-option`. */
export function parseOptions(args: readonly string[]): Options {
  const { values, inputs, has } = parse(args);
  return { format: formatOf(values), inputs, has };
}

type Values = ReturnType<typeof parse>["values"];

function parse(args: readonly string[]) {
  try {
    const { values, tokens } = parseArgs({
      args: [...args],
      allowPositionals: true,
      tokens: true,
      options: {
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

/** The format; options of go-bloomfilter alone imply it. */
function formatOf({ format, hashes, capacity, rate }: Values): ShardFormat | undefined {
  const numbers = {
    ...(hashes === undefined ? {} : { hashes: Number(hashes) }),
    ...(capacity === undefined ? {} : { capacity: Number(capacity) }),
    ...(rate === undefined ? {} : { falsePositiveRate: Number(rate) }),
  };
  const isGo = format === "go-bloomfilter" || (format === undefined && Object.keys(numbers).length > 0);
  if (!isGo && Object.keys(numbers).length > 0)
    throw badUsage(
      "--hashes, --capacity and --rate are for go-bloomfilter alone: shards of other formats contain theirs",
    );
  const named: unknown = isGo ? { kind: "go-bloomfilter", ...numbers } : format;
  checkFormat(named, () => {
    throw badUsage(
      isGo
        ? "go-bloomfilter needs --hashes (1 to 255), or --capacity and --rate of the filters, since its records do not contain k"
        : `--format is seenguard, guava, bits-and-blooms, redisbloom or go-bloomfilter, not ${JSON.stringify(format)}`,
    );
  });
  return named as ShardFormat | undefined;
}
