/** The entry `seenguard/slim`: the app says where `seenguard.wasm` is. */
export { ShardChain } from "../chain-on-demand.js";
export { SeenGuardError } from "../errors.js";
export { Feed } from "../feed.js";
export { SeenGuard } from "../guard.js";
