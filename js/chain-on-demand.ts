/**
 * `ShardChain` where a page has it. Pages seldom make shards, so the class and its Wasm module are a file of their own beside this one, which is
 * loaded when the first chain is made.
 */
import { failure, SeenGuardError } from "./errors.js";
import type * as Api from "./types/seenguard.js";

let loading: Promise<Pick<typeof Api.ShardChain, "create" | "from">> | undefined;

async function load() {
  try {
    const chain = await import("./entries/chain.js");
    // What it makes and throws is of this file's classes, too.
    Object.setPrototypeOf(chain.ShardChain.prototype, ChainOnDemand.prototype);
    Object.setPrototypeOf(chain.SeenGuardError.prototype, SeenGuardError.prototype);
    return chain.ShardChain;
  } catch (cause) {
    loading = undefined;
    throw failure("wasm-unavailable", "ShardChain's own file did not load", cause);
  }
}

/** Has chains made by the class that is loaded, and stands for it in `instanceof`. */
// eslint-disable-next-line @typescript-eslint/no-extraneous-class -- A class is what the package declares.
class ChainOnDemand {
  static async create(options?: Api.ChainOptions): Promise<Api.ShardChain> {
    return (await (loading ??= load())).create(options);
  }

  static async from(shards: Api.Snapshot | readonly string[], options?: Api.ChainOptions): Promise<Api.ShardChain> {
    return (await (loading ??= load())).from(shards, options);
  }
}

export const ShardChain = ChainOnDemand as unknown as typeof Api.ShardChain;
export type ShardChain = Api.ShardChain;
