/**
 * The entry `seenguard`, but for Node: the Wasm module is inlined, so nothing has to be found, fetched or served. It knows the native format alone,
 * which most pages do with; Node gets `formats.ts`, since a server's bytes do not matter.
 */
import { provideWasm } from "../engine/engine.js";
import { wasmText } from "../generated/page/wasm-text.js";
import { compileText } from "../wasm-text.js";

provideWasm(compileText.bind(undefined, wasmText));

export { ShardChain } from "../chain-on-demand.js";
export { SeenGuardError } from "../errors.js";
export { Feed } from "../feed/feed.js";
export { SeenGuard } from "../guard/guard.js";
