/** `ShardChain`: one user's shards on the server. */
import { loadEngine, type Engine } from "../engine/engine.js";
import { failure, SeenGuardError } from "../errors.js";
import type { Chain } from "../generated/server/seenguard.js";
import { collectIds, collectRecorded, freshItems, isUsable, listOf } from "../ids.js";
import type * as Api from "../types/server.js";
import { checkFilterOptions, checkTime, type FilterOptions } from "./call-options.js";
import { checkChainOptions, type ChainSettings } from "./chain-options.js";

/** Stands for a stored element that is no text: it is not base64 either. */
const NOT_BASE64 = "!";

type Rejected = Api.ShardChain["rejected"];

export class ShardChain implements Api.ShardChain {
  readonly rejected: Rejected;
  private readonly engine: Engine;
  /** `undefined` once freed. */
  private chain: Chain | undefined;
  private readonly format: Api.ShardFormat | undefined;

  private constructor(engine: Engine, chain: Chain, format: Api.ShardFormat | undefined) {
    this.engine = engine;
    this.chain = chain;
    this.format = format;
    this.rejected = chain.rejected() as Rejected;
  }

  static async create(options: Api.ChainOptions = {}): Promise<ShardChain> {
    return ShardChain.make([], checkChainOptions(options));
  }

  static async from(stored: Api.Snapshot | readonly string[], options: Api.ChainOptions = {}): Promise<ShardChain> {
    const settings = checkChainOptions(options);
    const shards: unknown = Array.isArray(stored) ? stored : (stored as Partial<Api.Snapshot> | null)?.shards;
    if (!Array.isArray(shards))
      throw new SeenGuardError("bad-snapshot", "ShardChain.from takes a list of shards, or a snapshot");
    // Array.from fills the holes of a sparse list with undefined.
    return ShardChain.make(
      Array.from(shards, (shard: unknown) => (typeof shard === "string" ? shard : NOT_BASE64)),
      settings,
    );
  }

  private static async make(stored: readonly string[], settings: ChainSettings): Promise<ShardChain> {
    const engine = await loadEngine().catch((cause: unknown) => {
      throw failure("wasm-unavailable", "ShardChain cannot work here: its WebAssembly does not start", cause);
    });
  }
