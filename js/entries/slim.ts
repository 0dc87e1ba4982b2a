/** The entry `seenguard/slim`: the app says where `seenguard.wasm` is, or `formats.wasm`. */
import { provideWasm } from "../engine.js";
import { readFormats } from "../formats.js";
import { provideFormats } from "../snapshot.js";
import { compileSource } from "../wasm-source.js";

provideFormats(readFormats);
provideWasm(compileSource);

export { ShardChain } from "../chain-on-demand.js";
export { SeenGuardError } from "../errors.js";
export { Feed } from "../feed.js";
export { SeenGuard } from "../guard.js";
