/**
 * What the package promises of itself, and whether this run found it so. A bar is a share of another's time or memory,
 * or a size.
 */
import type { Measured } from "./measure.ts";
import type { Bar, PlaceResults, Results } from "./results.ts";
import { GUARD, REQUEST } from "./server/chain.ts";

type Unjudged = Omit<Bar, "met">;

const NPM_FILTERS = ["bloomfilter", "bloom-filters"];

export function barsOf({ places, bytes, rust, server }: Omit<Results, "bars">): Bar[] {
  const found: Unjudged[] = [
    ...places.flatMap((place) => barsOfPlace(place)),
    ...Object.entries(bytes.heaps).map(([place, { Set: set }]) => ({
      what: "memory for 5,000 ids, against the Set",
      place,
      found: bytes.held.shards / set.shards,
      bar: 0.15,
    })),
    { what: "`Guard`, 5 shards, against `fastbloom`", place: "Rust", found: ratioOf(rust, "fastbloom"), bar: 0.8 },
    {
      what: "a server's page of 2,000, 5 shards",
      place: "Rust",
      found: 1000 * (server.rust.at(-1)?.ms.median ?? NaN),
      bar: 150,
      unit: "µs",
    },
    {
      what: "an update through Redis, 5,000 a second",
      place: `Node ${process.versions.node}`,
      found: 1000 * server.update.median,
      bar: 200,
      unit: "µs",
    },
    sizeBar("`seenguard` in an app, minified, brotli", bytes.files.seenguard?.brotli, 79.5, 64),
    sizeBar("`seenguard/slim` without the `.wasm`", bytes.files["seenguard/slim"]?.brotli, 14),
  ];
  // What was not found is not met either.
  return found.map((bar) => ({ ...bar, met: bar.found <= bar.bar }));
}

function barsOfPlace({ title: place, outcomes, cold }: PlaceResults): Unjudged[] {
  const measured = (workload: string) => outcomes.find((outcome) => outcome.workload === workload)?.measured ?? [];
  const filter = measured("filter-2000");
  const growth = measured("growth");
  const { more, task } = cold.impressions ?? {};
  const fastest = Math.max(...NPM_FILTERS.map((name) => ratioOf(filter, name)));
  return [
    { what: "filter 2,000 ids, against `Set.has`", place, found: ratioOf(filter, "Set"), bar: 0.5 },
    { what: "the same against the fastest npm Bloom filter", place, found: fastest, bar: 0.12 },
    { what: "filter 20 ids, against `Set.has`", place, found: ratioOf(measured("filter-20"), "Set"), bar: 1.5 },
    { what: "filter 20 ids", place, found: 1000 * timeOf(measured("filter-20"), "seenguard"), bar: 10, unit: "µs" },
    // The first contender's time as a share of this one's: the other way round.
    { what: "32 shards against 1", place, found: 1 / ratioOf(growth, "32 shards"), bar: 1.6 },
    {
      what: "`apply` against parsing the ids and building the Set",
      place,
      found: ratioOf(measured("apply"), "Set"),
      bar: 0.5,
    },
    {
      what: "a server's page of 2,000, against the guard's `apply` and `filter`",
      place,
      found: ratioOf(measured("server-request"), GUARD),
      bar: 1.5,
    },
    {
      what: "a server's update, against its page",
      place,
      found: ratioOf(measured("server-update"), REQUEST),
      bar: 0.25,
    },
    ...["", ", processor at a quarter"].flatMap((how) => {
      const [ready, floor] = ["seenguard", "nothing"].map((name) => cold[name + how]?.ready);
      const what = `import to ready, against an empty module and an IndexedDB${how}`;
      return ready && floor ? [{ what, place, found: ready.median / floor.median, bar: 1.5 }] : [];
    }),
    ...(more
      ? [
          {
            what: "`open` with 10,000 impressions, beyond `open` with none",
            place,
            found: more.median,
            bar: 15,
            unit: "ms",
          } as const,
        ]
      : []),
    ...(task
      ? [
          {
            what: "the longest task, 10,000 stored and 5,000 pending, processor at a quarter",
            place,
            found: task.median,
            bar: 50,
            unit: "ms",
          } as const,
        ]
      : []),
  ];
}

function sizeBar(what: string, bytes: number | undefined, bar: number, aim?: number): Unjudged {
  return { what, place: "", found: (bytes ?? NaN) / 1000, bar, unit: "KB", ...(aim === undefined ? {} : { aim }) };
}

const ratioOf = (measured: readonly Measured[], name: string): number =>
  measured.find((contender) => contender.name === name)?.ratio.median ?? NaN;

const timeOf = (measured: readonly Measured[], name: string): number =>
  measured.find((contender) => contender.name === name)?.ms.median ?? NaN;
