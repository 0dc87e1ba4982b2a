/** `npx seenguard` itself; inspect.test.ts and plan.test.ts have its commands. */
import { expect, test } from "vitest";
import { runCommand } from "../support/processes.js";

test.each([
  { what: "no command", args: [] },
  { what: "another command", args: ["explode"] },
  { what: "an option before the command", args: ["--json", "plan"] },
])("$what exits with status 2 and a message that names the remedy", async ({ args }) => {
  const { status, stdout, stderr } = await runCommand(args);
  expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
  expect(stderr).toMatch(/^seenguard: .* \(https:\S+#bad-option\); see seenguard --help\n$/);
});

test.each([["--help"], ["-h"]])("%s lists every command", async (option) => {
  const { status, stdout, stderr } = await runCommand([option]);
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  for (const name of ["inspect", "plan"]) {
    expect(stdout).toContain(`seenguard ${name}`);
    expect((await runCommand([name, option])).stdout).toContain(`seenguard ${name}`);
  }
});
