/** The guard has the results of the reference vectors' writer, false positives included. */

import { beforeEach, describe, expect, test, vi } from "vitest";
import { openGuard, readVectors } from "../support/node.js";

// Two shards of the vectors expire in 1970: the server's clock stands still before that.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date", "performance"], now: 0 });
  return () => vi.useRealTimers();
});

for (const name of ["native", "native-edges"] as const) {
  const { ids, cases } = readVectors(name);
  const answerOf = new Map(ids.map((id, index) => [id, index]));
  // Some ids of a server are not ids on a device, and pass.
  const onDevice = ids.filter((id) => Buffer.from(id).toString() === id && id.length <= 1024);
  const isIn = (answers: string, id: string) => answers[answerOf.get(id) ?? -1] === "1";
  describe(`every shard of ${name}.json`, () => {
    for (const { base64, answers, epoch, bits, hashes } of cases) {
      const title = `epoch ${String(epoch)}, ${String(bits)} bits, ${String(hashes)} hashes`;
      const fresh = onDevice.filter((id) => !isIn(answers, id));

      test(`i3: filter stops exactly the ids that it contains: ${title}`, async () => {
        const { guard, errors } = await openGuard();
        expect(guard.apply({ shards: [base64], now: 0 })).toMatchObject({ applied: true });
        expect(guard.filter(onDevice)).toEqual(fresh);
        // The fullest shards are reported.
        const isSaturated = guard.stats().serverFalsePositiveRate > 0.5;
        expect(errors.map(({ code }) => code)).toEqual(isSaturated ? ["too-large"] : []);
      });
    }
  });
}
