/** How the benchmarks take samples: lab/benches/measure.ts. */
import { expect, it } from "vitest";
import { measure } from "../../lab/benches/measure.ts";

it("runs the contenders anew for each sample", async () => {
  const runs = { first: 0, second: 0 };
  const contenders = (["first", "second"] as const).map((name) => ({ name, prepare: () => () => ++runs[name] }));
  const measured = await measure(contenders, 4, { rounds: 3, roundMs: 0.01, warmupMs: 0 });
  // Warming up takes one sample.
  expect(measured.map(({ name, ms }) => [name, 4 * (ms.samples + 1)])).toEqual(Object.entries(runs));
});
