/** The entry `seenguard/slim`: the app says where `seenguard.wasm` is. */
import { provideGlue, type CreateGlue } from "../engine.js";
import { createGlue } from "../generated/page/glue.js";

provideGlue(createGlue as CreateGlue);

export { ShardChain } from "../chain-on-demand.js";
export { SeenGuardError } from "../errors.js";
export { Feed } from "../feed.js";
export { SeenGuard } from "../guard.js";
