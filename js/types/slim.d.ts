/**
 * `seenguard/slim`: the same as `seenguard`, without the Wasm module in it. Say once where `seenguard/seenguard.wasm` is; later calls may leave
 * it out.
 */
import { ChainOptions, GuardOptions, SeenGuard as Guard, ShardChain as Chain, Snapshot } from "./seenguard.js";

export * from "./seenguard.js";

/** Where the module is, or what it holds. */
export type WasmSource = string | URL | Response | BufferSource | WebAssembly.Module;

export declare class SeenGuard extends Guard {
  static open(options: GuardOptions & { wasm?: WasmSource }): Promise<SeenGuard>;
}

/** Its module comes in a file of its own, when the first chain is made. `wasm` may be given as to `open`, and is not needed. */
export declare class ShardChain extends Chain {
  static create(options?: ChainOptions & { wasm?: WasmSource }): Promise<ShardChain>;
  static from(
    shards: Snapshot | readonly string[],
    options?: ChainOptions & { wasm?: WasmSource },
  ): Promise<ShardChain>;
}
