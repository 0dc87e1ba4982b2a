/** The entry `seenguard/slim`: the app says where `seenguard.wasm` is, or `formats.wasm`. */
import { provideWasm } from "../engine/engine.js";
import { readFormats } from "../formats.js";
import { provideFormats } from "../guard/snapshot.js";
import { compileSource } from "../engine/wasm-source.js";

provideFormats(readFormats);
provideWasm(compileSource);

export { ShardChain } from "../chain-on-demand.js";
export { SeenGuardError } from "../errors.js";
export { Feed } from "../feed/feed.js";
export { SeenGuard } from "../guard/guard.js";
