/** Two devices of a person: the second repeats no item of the first, 2.5 s after the last impression. */
import { memoryStore, seenOf } from "seenguard/server";
import { expect, test } from "vitest";
import { idsOf, MapStorage, openGuard, openPage, Random, uniqueNamespace } from "../support/node.js";
import { pass, useFakeTimers } from "../support/clocks.js";

/** A second until the request, and its duration, as in docs/delivery.md. */
const DELIVERED_MS = 2_500;

useFakeTimers();

test("2.5 s after the last impression the other device repeats none, though the stream is stopped", async () => {
  const random = new Random(22);
  const ranked = idsOf("story", 400).map((id) => ({ id }));
  const namespace = uniqueNamespace();
  const store = memoryStore({ namespaceOf: () => namespace });
  const server = async (_: string, { body }: { body: string }) => {
    // The latency of a network.
    await new Promise((resolve) => setTimeout(resolve, 300));
    await store.accept("ada", JSON.parse(body));
    return new Response(null, { status: 204 });
  };
  const devices = await Promise.all(
    [0, 1].map(async () => {
      const { guard } = await openGuard(
        { namespace, storage: new MapStorage() },
        openPage("", { fetch: server, Response }).seenguard,
      );
      guard.report({ url: "https://feed.test/seen" });
      return guard;
    }),
  );
  // Their names are stored.
  await pass(3_000);
  const shown = new Set<string>();
  const repeated: string[] = [];
  for (let visit = 0; visit < 12; visit++) {
    const guard = devices[visit % 2];
    if (!guard) throw new Error("there are two devices");
    const { items, snapshot } = await store.page("ada", ranked, { size: 20, ...seenOf(guard.headers()) });
    guard.apply(snapshot);
    for (const { id } of guard.filter(items).slice(0, 1 + random.below(20))) {
      if (shown.has(id)) repeated.push(id);
      shown.add(id);
      guard.record(id);
      await pass(random.below(2_000));
    }
    await pass(DELIVERED_MS);
  }
  expect(shown.size).toBeGreaterThan(60);
  expect(repeated).toEqual([]);
});
