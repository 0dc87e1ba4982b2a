#!/usr/bin/env node
/** The package's command, `npx seenguard inspect`: shows what a shard holds, for those who support a feed. */
import { describe, SeenGuardError } from "../js/errors.ts";
import { provideServerEngine } from "../js/server/engine.ts";
import { loadInspector } from "../js/server/inspection.ts";
import { readSources } from "./input.ts";
import { inspectAll } from "./inspect.ts";
import { HELP, parseOptions, type Options } from "./options.ts";
import { asText } from "./text.ts";

const [DAMAGED, BAD_USAGE] = [1, 2];

async function main(args: readonly string[]): Promise<void> {
  // A reader that has seen enough, such as `head`, closes the pipe.
  process.stdout.on("error", () => undefined);
  let options: Options;
  try {
    options = parseOptions(args);
  } catch (error) {
    fail(error, args.includes("--json"));
    return;
  }
  if (options.help) {
    process.stdout.write(HELP);
    return;
  }
  try {
    const source = await readSources(options);
    const inspected = inspectAll(await loadInspector(), source, options);
    process.stdout.write(options.json ? `${JSON.stringify(inspected, undefined, 2)}\n` : asText(inspected));
    for (const { index, error } of inspected.shards)
      if (error) say(`shard ${String(index)}: ${error.message}`, error.code);
    if (inspected.error) say(inspected.error.message, inspected.error.code);
    if (inspected.error ?? inspected.shards.some(({ error }) => error)) process.exitCode = DAMAGED;
  } catch (error) {
    fail(error, options.json);
  }
}

/** What the command was given makes no sense, or cannot be read at all. */
function fail(error: unknown, json: boolean): void {
  const code = error instanceof SeenGuardError ? error.code : "trap";
  if (json) process.stdout.write(`${JSON.stringify({ error: { code, message: describe(error) } }, undefined, 2)}\n`);
  say(describe(error), code);
  process.exitCode = code === "bad-option" ? BAD_USAGE : DAMAGED;
}

function say(message: string, code: string): void {
  process.stderr.write(`seenguard: ${message} [${code}]\n`);
}

provideServerEngine();
await main(process.argv.slice(2));
