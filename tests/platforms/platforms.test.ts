/** The installed package on each platform, one after the other: compilers take all cores. */
import { join } from "node:path";
import { inject, test } from "vitest";
import { platforms } from "./platforms.js";

for (const { name, tested, app, run } of platforms)
  test(`${name} runs ${tested}`, () => run(join(inject("installed"), app)));
