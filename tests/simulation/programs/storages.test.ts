/**
 * Storages that fail, answer late or never, lose what they are given and answer what they were not given: the guard
 * goes on with what works, nothing that the storage kept is lost, no promise stays open, and `onError` hears of it.
 */
import fc from "fast-check";
import type { SeenGuard, SeenGuardError } from "seenguard";
import { ShardChain } from "seenguard/server";
import { beforeAll, expect } from "vitest";
import { NOW } from "../../support/node.js";
import { hostile, thrown, type Made } from "./hostile.js";
import { countCommands, runPrograms } from "./programs.js";
import { loadTabs, startDevice, type Device, type Request, type TabDocument } from "./tabs.js";

/** Longer than anything waits for a storage. */
const PATIENCE_MS = 30_000;
/** Longer than `open` waits for one. */
const SLOW_MS = 2_500;
const IN_THE_SHARD = "in the shard";
const NEVER_RECORDED = ["never recorded", "nor this one"];
const IDS = Array.from({ length: 8 }, (_, index) => `id ${String(index)}`);

/** What becomes of one request: the first five do what they are asked for, or say that they do not. */
type Behaviour =
  | { readonly way: "works" | "is full" | "never answers" }
  | { readonly way: "is slow"; readonly ms: number }
  | { readonly way: "rejects" | "throws"; readonly error: Made }
  | { readonly way: "loses" | "lists what is gone" | "lists twice" | "lists nothing" | "answers for another key" }
  | { readonly way: "truncates" | "damages"; readonly at: number }
  | { readonly way: "answers anything"; readonly value: Made };

const HONEST = new Set<string>(["works", "is full", "never answers", "is slow", "rejects", "throws", "lists twice"]);

const behaviour: fc.Arbitrary<Behaviour> = fc.oneof(
  fc.record({ way: fc.constantFrom("works" as const, "works" as const, "is full" as const, "never answers" as const) }),
  fc.record({ way: fc.constant("is slow" as const), ms: fc.nat({ max: SLOW_MS }) }),
  fc.record({ way: fc.constantFrom("rejects" as const, "throws" as const), error: thrown }),
  fc.record({ way: fc.constantFrom("loses" as const, "lists what is gone" as const, "lists twice" as const) }),
  fc.record({ way: fc.constantFrom("lists nothing" as const, "answers for another key" as const) }),
  fc.record({ way: fc.constantFrom("truncates" as const, "damages" as const), at: fc.nat({ max: 200 }) }),
  fc.record({ way: fc.constant("answers anything" as const), value: hostile }),
);

type Step =
  | { readonly do: "open" | "flush" | "close" | "crash" | "clear" | "apply" | "heal" }
  | { readonly do: "record"; readonly ids: readonly string[] }
  | { readonly do: "pass"; readonly ms: number }
  | { readonly do: "behave"; readonly behaviours: readonly Behaviour[] };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant("record" as const), ids: fc.subarray(IDS, { minLength: 1, maxLength: 3 }) }),
  },
  { weight: 5, arbitrary: fc.record({ do: fc.constantFrom("open" as const, "flush" as const, "close" as const) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom("crash" as const, "clear" as const, "apply" as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("heal" as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("pass" as const), ms: fc.nat({ max: 5_000 }) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("behave" as const),
      behaviours: fc.array(behaviour, { minLength: 1, maxLength: 4 }),
    }),
  },
);

let shard = "";
beforeAll(async () => {
  await loadTabs(1);
  const chain = await ShardChain.create();
  chain.record(IN_THE_SHARD, { now: NOW });
  shard = chain.snapshot({ now: NOW }).shards[0] ?? "";
  chain.free();
});

interface Open {
  readonly document: TabDocument;
  readonly guard: SeenGuard;
  /** What it recorded and did not clear. */
  readonly own: Set<string>;
}

class Program {
  private readonly device: Device;
  private behaviours: readonly Behaviour[] = [];
  private requests = 0;
  /** Requests that were not answered as they should. */
  private troubles = 0;
  private open: Open | undefined;
  /** What the storage has certainly kept; and what it may have, since it was recorded at some time. */
  private kept = new Set<string>();
  private readonly recorded = new Set<string>();
  /** What this document recorded since the storage last lied to it. */
  private since = new Set<string>();

  constructor(seed: number) {
    this.device = startDevice(seed, (request) => this.answer(request));
  }

  private answer(request: Request): unknown {
    const behaviour = this.behaviours[this.requests++ % this.behaviours.length] ?? { way: "works" };
    if (behaviour.way !== "works") this.troubles++;
    if (!HONEST.has(behaviour.way)) {
      this.kept = new Set();
      this.since = new Set();
    }
    return this.answerAs(behaviour, request);
  }

  private answerAs(behaviour: Behaviour, { document, operation, key, act }: Request): unknown {
    const { values } = this.device;
    switch (behaviour.way) {
      case "works":
        return act();
      case "is full":
        if (operation === "set") throw Object.assign(new Error("full"), { name: "QuotaExceededError" });
        return act();
      case "never answers":
        return new Promise(() => {});
      case "is slow":
        return new Promise((resolve) => this.device.after(behaviour.ms, document, () => resolve(act())));
      case "rejects":
        return Promise.resolve().then(() => {
          throw behaviour.error.make();
        });
      case "throws":
        throw behaviour.error.make();
      case "loses":
        return operation === "set" || operation === "remove" ? undefined : act();
      case "lists what is gone":
        return operation === "keys" ? [...values.keys(), ...gone(values)] : act();
      case "lists twice":
        return operation === "keys" ? [...values.keys(), ...values.keys()] : act();
      case "lists nothing":
        return operation === "keys" ? [] : act();
      case "answers for another key":
        return operation === "get" ? [...values.values()].at(key.length % Math.max(values.size, 1)) : act();
      case "truncates":
        return operation === "get" ? values.get(key)?.slice(0, behaviour.at) : act();
      case "damages":
        return operation === "get" ? damaged(values.get(key), behaviour.at) : act();
      case "answers anything":
        return behaviour.value.make();
    }
  }

  async take(step: Step): Promise<void> {
    countCommands();
    if (step.do === "heal") this.behaviours = [];
    else if (step.do === "behave") this.behaviours = step.behaviours;
    else if (step.do === "pass") await this.device.advance(step.ms);
    else if (!this.open) {
      if (step.do === "open") await this.begin();
    } else if (step.do !== "open") await this.act(step, this.open);
    await this.device.advance(2);
    this.check();
  }

  private async begin(): Promise<void> {
    const document = this.device.newDocument(0);
    const { kept, troubles } = this;
    this.open = { document, guard: await this.until(document.open(this.device.namespace)), own: new Set() };
    this.since = new Set();
    if (this.troubles > troubles) return;
    expect(this.open.guard.filter([...kept, ...NEVER_RECORDED])).toEqual(NEVER_RECORDED);
  }

  private async act(
    step: Exclude<Step, { do: "open" | "heal" | "behave" | "pass" }>,
    { document, guard, own }: Open,
  ): Promise<void> {
    if (step.do === "record") {
      guard.record(step.ids);
      for (const id of step.ids) for (const set of [own, this.since, this.recorded]) set.add(id);
    } else if (step.do === "apply") {
      expect(guard.apply({ shards: [shard] })).toMatchObject({ applied: true });
      expect(guard.filter([IN_THE_SHARD])).toEqual([]);
    } else if (step.do === "clear") await this.clear(document, own);
    else if (step.do === "crash") this.leave(document);
    else {
      await this.until(guard.flush());
      // What has gone wrong is reported once; whether it still does, `stats` says.
      if (guard.stats().storage === "custom") for (const id of this.since) this.kept.add(id);
      if (step.do === "close") await this.until(guard.close());
      if (step.do === "close") this.leave(document);
    }
  }

  private leave(document: TabDocument): void {
    this.device.end(document);
    this.open = undefined;
  }

  private async clear({ page, storage }: TabDocument, own: Set<string>): Promise<void> {
    const { SeenGuard } = page.seenguard;
    for (const set of [own, this.kept, this.since]) set.clear();
    const cleared = SeenGuard.clear(this.device.namespace, storage);
    await this.until(cleared.catch((error: unknown) => expect((error as SeenGuardError).code).toBe("storage")));
  }

  /** The promise's value; time passes until it is kept. */
  private async until<T>(promise: Promise<T>): Promise<T> {
    const state = { isKept: false };
    const keep = () => (state.isKept = true);
    promise.then(keep, keep);
    for (let ms = 0; ; ms += 100) {
      await this.device.advance(ms === 0 ? 0 : 100);
      if (state.isKept) return promise;
      if (ms > PATIENCE_MS) throw new Error("a promise stays open");
    }
  }

  private check(): void {
    if (!this.open) return;
    const { document, guard, own } = this.open;
    const { errors } = document;
    expect(guard.filter([...own])).toEqual([]);
    const never = [...IDS.filter((id) => !this.recorded.has(id)), ...NEVER_RECORDED];
    expect(guard.filter(never)).toEqual(never);
    for (const { code } of errors) expect(["storage"]).toContain(code);
    expect(errors.length === 0 || this.troubles > 0).toBe(true);
  }

  /** Whatever was, when the storage works again all is written, and the next document has it. */
  async end(): Promise<void> {
    await this.take({ do: "heal" });
    await this.take({ do: "crash" });
    await this.take({ do: "open" });
    await this.take({ do: "record", ids: IDS.slice(0, 2) });
    await this.take({ do: "flush" });
    expect(IDS.slice(0, 2).every((id) => this.kept.has(id))).toBe(true);
    await this.take({ do: "close" });
    await this.take({ do: "open" });
    this.device.end(this.open?.document);
  }
}

/** Keys as of segments that somebody has removed. */
function gone(values: ReadonlyMap<string, string>): string[] {
  return [...values.keys()].filter((key) => key.includes("/s/")).map((key) => `${key.slice(0, -1)}zz`);
}

function damaged(text: string | undefined, at: number): string | undefined {
  return text && `${text.slice(0, at % text.length)}A${text.slice((at % text.length) + 1)}`;
}

runPrograms("lying storages", () =>
  fc.asyncProperty(fc.nat(), fc.array(step, { maxLength: 40, size: "max" }), async (seed, steps) => {
    await loadTabs(1);
    const program = new Program(seed);
    for (const step of steps) await program.take(step);
    await program.end();
  }),
);
