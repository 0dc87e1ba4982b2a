/** The entry `seenguard/server`: chains of shards, in all formats, with the Wasm module inlined. */
import { provideServerEngine } from "../server/engine.js";

provideServerEngine();

export { SeenGuardError } from "../errors.js";
export { pageOf } from "../server/page-of.js";
export { parseReport } from "../server/report.js";
export { ShardChain } from "../server/shard-chain.js";
export { memoryStore } from "../server/store/memory.js";
export { redisStore } from "../server/store/redis.js";
