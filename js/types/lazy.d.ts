/** `seenguard/lazy`: for apps whose first chunk has no engine. */
import type { GuardOptions, SeenGuard } from "./seenguard.js";

/** `SeenGuard.open` of `seenguard`, which is imported on first use. */
export declare function open(options: GuardOptions): Promise<SeenGuard>;
