#!/usr/bin/env node
/** The package's command, `npx seenguard`. */
import { badUsage, failureOf, type Command } from "./command.ts";
import { inspect } from "./inspect/command.ts";
import { plan } from "./plan.ts";

const HELP = `Tools for the Bloom shards in which a server stores what its users have seen.

  seenguard inspect     prints the content of a shard or a snapshot
  seenguard plan        sizes a feed's shards, and prints their cost in bytes

seenguard COMMAND --help prints the options of a command.
`;

const commands = new Map<string | undefined, Command>([
  ["inspect", inspect],
  ["plan", plan],
]);
const [FAILED, BAD_USAGE] = [1, 2];

async function main([name, ...args]: readonly string[]): Promise<void> {
  // A reader such as `head` closes the pipe early.
  process.stdout.on("error", () => undefined);
  const command = commands.get(name);
  const isJson = args.includes("--json");
  try {
    if ([name, ...args].some((arg) => arg === "--help" || arg === "-h")) {
      process.stdout.write(command?.help ?? HELP);
      return;
    }
    if (!command)
      throw badUsage(name === undefined ? "the command is missing" : `there is no command ${JSON.stringify(name)}`);
    const { value, text, failures } = await command.run(args);
    process.stdout.write(isJson ? asJson(value) : text);
    for (const { message } of failures) printError(message);
    if (failures.length > 0) process.exitCode = FAILED;
  } catch (error) {
    const { code, message: reason } = failureOf(error);
    const where = command ? `${name ?? ""} --help` : "--help";
    const message = reason + (code === "bad-option" ? `; see seenguard ${where}` : "");
    if (isJson) process.stdout.write(asJson({ error: { code, message } }));
    printError(message);
    process.exitCode = code === "bad-option" ? BAD_USAGE : FAILED;
  }
}

const asJson = (value: object): string => `${JSON.stringify(value, undefined, 2)}\n`;

function printError(message: string): void {
  process.stderr.write(`seenguard: ${message}\n`);
}

await main(process.argv.slice(2));
