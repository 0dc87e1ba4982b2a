/** The entry `seenguard/server`: chains of shards, in all formats, with the Wasm module inlined. */
export { SeenGuardError } from "../errors.js";
export { pageOf } from "../server/page-of.js";
export { plan } from "../server/plan.js";
export { parseReport } from "../server/report.js";
export { seenOf } from "../server/seen-of.js";
export { ShardChain } from "../server/shard-chain.js";
export { addPending, memoryBackend, memoryStore } from "../server/store/memory.js";
export { redisStore } from "../server/store/redis.js";
export { seenStore } from "../server/store/seen-store.js";
