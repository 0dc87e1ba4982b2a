/** The entry `seenguard/server`: chains of shards, in all formats, with the Wasm module inlined. */
import { provideServerEngine } from "../server/engine.js";

provideServerEngine();

export { SeenGuardError } from "../errors.js";
export { ShardChain } from "../server/shard-chain.js";
