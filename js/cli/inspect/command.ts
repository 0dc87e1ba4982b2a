/** `npx seenguard inspect`: prints the content of shards, to find errors. */
import { loadInspector } from "../../server/inspection.ts";
import type { Command } from "../command.ts";
import { readSources } from "./input.ts";
import { inspectAll } from "./inspect.ts";
import { parseOptions } from "./options.ts";
import { asText } from "./text.ts";

const HELP = `Prints the content of a Bloom shard or a snapshot.

  seenguard inspect [OPTIONS] [SHARD | FILE | -]... [--has ID...]

Reads a shard as an argument, a file or the standard input (-, the default):
a snapshot as JSON, a response with a "snapshot", a list of shards as JSON,
or one shard a line, as LRANGE prints them.

  --format NAME       seenguard, guava, bits-and-blooms, redisbloom or go-bloomfilter;
                      default: the format in the snapshot, else recognised by content
  --hashes K          go-bloomfilter, whose records do not contain it: k, or ...
  --capacity N        ... the number of items a filter is made for, and ...
  --rate E            ... its false positive rate
  --has ID...         whether the shards contain these ids
  --json              prints JSON
  --help              prints this text

A shard of RedisBloom is its BF.SCANDUMP chunks as base64, joined by commas, or as a
list in JSON. Arguments after --has are ids, up to the next option; an id that begins
with a dash is written --has=-id.

Exit status: 0; 1 if something is damaged; 2 for wrong arguments.
`;

export const inspect: Command = {
  help: HELP,
  async run(args) {
    const options = parseOptions(args);
    const source = await readSources(options);
    const value = inspectAll(await loadInspector(), source, options);
    const failures = value.shards.flatMap(({ index, error }) =>
      error ? [{ code: error.code, message: `shard ${String(index)}: ${error.message}` }] : [],
    );
    return { value, text: asText(value), failures: value.error ? [...failures, value.error] : failures };
  },
};
