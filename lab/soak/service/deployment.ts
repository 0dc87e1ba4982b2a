/**
 * The programs over a topology: a service that applies reports at once, one that appends them to a stream, and the
 * stream's consumer. Each can be suspended or killed, and is restarted. Readers use both services in turns, each
 * through a link.
 */
import type { Snapshot } from "seenguard/server";
import { freePort } from "../../../scripts/lib/processes.mjs";
import { chainFlags, startService, type RunningService } from "../../../scripts/lib/service.mjs";
import { until } from "../../../tests/support/processes.ts";
import { residentBytes } from "../../benches/machine.ts";
import { stopAndWake, type Fault } from "./faults.ts";
import { Link, linkFaults } from "./link.ts";
import type { Topology } from "./topologies.ts";

/** Small shards, so that new ones are started during a run, and enough of them that none is dropped. */
export const CHAIN = { capacity: 25, shards: 32, falsePositiveRate: 0.000_25 };
/** The timeout until the stream is empty. */
const DRAIN_MS = 120_000;

export const PARTS = ["service", "service with a stream", "consumer"] as const;
export type Part = (typeof PARTS)[number];

/** The timeout of a part's readiness probe, and of a snapshot. */
const ANSWER_MS = 5_000;
const SNAPSHOT_MS = 30_000;

/** A part: its command, its current process, and the link for readers. */
interface Program {
  readonly arguments: readonly string[];
  readonly link: Link;
  running: RunningService;
}

export class Deployment {
  private constructor(
    private readonly program: string,
    readonly topology: Topology,
    private readonly programs: ReadonlyMap<Part, Program>,
  ) {}

  static async start(program: string, topology: Topology): Promise<Deployment> {
    const { stream } = topology;
    const common = ["--namespace", "home:{user}", "--log", "error", ...chainFlags(CHAIN)];
    const argumentsOf: Record<Part, string[]> = {
      service: common,
      "service with a stream": [...common, ...stream.flags],
      consumer: ["consume", ...common, ...stream.flags, ...stream.consumerFlags, "--name", "soak"],
    };
    const programs = new Map<Part, Program>();
    for (const part of PARTS) {
      const port = await freePort();
      const all = [...argumentsOf[part], "--redis", topology.urlOf(part), "--listen", `127.0.0.1:${String(port)}`];
      programs.set(part, { arguments: all, link: await Link.to(port), running: await startService(program, all) });
    }
    return new Deployment(program, topology, programs);
  }

  /** The URL of a service for readers. */
  urlOf(part: Part): string {
    return `http://127.0.0.1:${String(this.get(part).link.port)}`;
  }

  /** The faults that kill a part by SIGKILL and restart it, like a supervisor. */
  kills(): Fault[] {
    return PARTS.map((part) => ({
      part,
      kind: "killed",
      inject: async () => {
        const program = this.get(part);
        await program.running.stop("SIGKILL");
        program.running = await startService(this.program, program.arguments);
      },
    }));
  }

  /** The faults that suspend a part, and those of the readers' links. */
  faults(): Fault[] {
    return PARTS.flatMap((part) => {
      const { link } = this.get(part);
      const signal = (name: NodeJS.Signals) => () => this.get(part).running.process.kill(name);
      const isStopped: Fault = {
        part,
        kind: "stopped",
        inject: () => stopAndWake({ hang: signal("SIGSTOP"), wake: signal("SIGCONT") }),
      };
      return [isStopped, ...(part === "consumer" ? [] : linkFaults(`the readers' link to the ${part}`, () => link))];
    });
  }

  /** Resolves when all parts are ready, with their store and stream. */
  async isReady(): Promise<void> {
    for (const part of PARTS)
      for (const need of ["storage", "stream"])
        await until(`the ${part} over ${this.topology.name} has its ${need}`, async () => {
          const { url } = this.get(part).running;
          const signal = AbortSignal.timeout(ANSWER_MS);
          const answer = await fetch(`${url}/readyz?${need}`, { signal }).catch(() => null);
          await answer?.text();
          return answer?.ok === true;
        });
  }

  /** The resident bytes of a part. */
  memoryOf(part: Part): number {
    return residentBytes(this.get(part).running.process.pid);
  }

  /** Resolves when all records of the stream are in the chains or are dead letters. */
  async isDrained(): Promise<void> {
    const { name, stream } = this.topology;
    await until(`the stream over ${name} has delivered what is in it`, () => stream.isDrained(), DRAIN_MS);
  }

  async snapshotOf(user: string): Promise<Snapshot> {
    let text = "";
    await until(`the snapshot of ${user} over ${this.topology.name}`, async () => {
      const url = `${this.get("service").running.url}/v1/users/${user}/snapshot`;
      const answer = await fetch(url, { signal: AbortSignal.timeout(SNAPSHOT_MS) });
      text = await answer.text();
      // 503: Redis timed out, as on a busy machine, since all snapshots are requested at once.
      if (!answer.ok && answer.status !== 503) throw new Error(`${String(answer.status)} ${text}`);
      return answer.ok;
    });
    return JSON.parse(text) as Snapshot;
  }

  async stop(): Promise<void> {
    await Promise.all([...this.programs.values()].map(({ running }) => running.stop("SIGKILL")));
    for (const { link } of this.programs.values()) link.close();
    await this.topology.stop();
  }

  private get(part: Part): Program {
    const program = this.programs.get(part);
    if (program === undefined) throw new Error(`no such part: ${part}`);
    return program;
  }
}
