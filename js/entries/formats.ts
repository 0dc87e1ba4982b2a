/**
 * The entry `seenguard/formats`: the same as `seenguard`, with a Wasm module that knows the filters of other libraries and has all in one file,
 * `ShardChain` too. In Node it is `seenguard`.
 */
import { provideWasm } from "../engine/engine.js";
import { readFormats } from "../formats.js";
import { wasmText } from "../generated/whole/wasm-text.js";
import { provideFormats } from "../guard/snapshot.js";
import { compileText } from "../wasm-text.js";

provideFormats(readFormats);
provideWasm(compileText.bind(undefined, wasmText));

export { ShardChain } from "../chain.js";
export { SeenGuardError } from "../errors.js";
export { Feed } from "../feed/feed.js";
export { SeenGuard } from "../guard/guard.js";
