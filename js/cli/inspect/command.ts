/** `npx seenguard inspect`: describes a shard, for the support of a feed. */
import { loadInspector } from "../../server/inspection.ts";
import type { Command } from "../command.ts";
import { readSources } from "./input.ts";
import { inspectAll } from "./inspect.ts";
import { parseOptions } from "./options.ts";
import { asText } from "./text.ts";

const HELP = `Tells what a Bloom shard or a snapshot holds.

  seenguard inspect [OPTIONS] [SHARD | FILE | -]... [--has ID...]

Reads a shard's text, a file or the standard input (-, and the default):
a snapshot as JSON, an answer that has one as "snapshot", a list of shards as JSON,
or one shard a line, as LRANGE prints them.

  --format NAME       seenguard, guava, bits-and-blooms, redisbloom or go-bloomfilter;
                      else a snapshot's own, and for bare shards what they look like
  --hashes K          the k of go-bloomfilter, which its records do not contain, or ...
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
