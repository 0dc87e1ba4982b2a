/** The back end over real services: pages come from seenguard-server, and its consumer or a Flink job ingests the stream. */
import { ShardChain, type Page, type PageOptions } from "seenguard/server";
import type { BackEnd, StreamControl, StreamStatus } from "../back-end.ts";
import { groupIdOf, type Item } from "../catalogue.ts";
import { CHAIN_OPTIONS } from "../chain.ts";
import { ServiceClient } from "./client.ts";
import type { Pipeline } from "./pipeline.ts";

export class ServiceBackEnd implements BackEnd {
  readonly cannot = {
    lagSeconds: "The pipeline has its own lag here: the guard's panel measures it.",
    losesEvents: "The service does not lose acknowledged reports.",
    replicaLags: "The service reads from one Redis.",
    flush: "The service has no route for it.",
  };
  private readonly client: ServiceClient;

  constructor(private readonly pipeline: Pipeline) {
    this.client = new ServiceClient(pipeline.url);
  }

  get kind(): Pipeline["kind"] {
    return this.pipeline.kind;
  }

  get dashboard(): string | undefined {
    return this.pipeline.dashboard;
  }

  /** The chain of the service's snapshot, so that the recommender filters as over memory. */
  async read(user: string): Promise<ShardChain> {
    return ShardChain.from(await this.client.snapshot(user), CHAIN_OPTIONS);
  }

  page(user: string, ranked: readonly Item[], options: PageOptions): Promise<Page<Item>> {
    return this.client.page(user, ranked, { ...options, id: groupIdOf });
  }

  report(user: string, body: unknown): Promise<void> {
    return this.client.report(user, body);
  }

  /** The one stream of all people. */
  stream(): Promise<StreamStatus> {
    return Promise.resolve({ running: this.pipeline.consumer.isWanted });
  }

  async control(_user: string, { running }: Partial<StreamControl>): Promise<void> {
    if (running !== undefined) await this.pipeline.consumer.run(running);
  }

  forget(user: string): Promise<void> {
    return this.client.forget(user);
  }
}
