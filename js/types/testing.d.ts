/**
 * `seenguard/testing`: a real guard without storage, document or network, with a clock that the test controls.
 * Importing it provides a `TextEncoder` and a `TextDecoder` where the platform has none, such as Jest's jsdom.
 */
import type { GuardOptions, SeenGuard } from "./seenguard.js";

/**
 * Opens a guard whose time stands still until `advance`. Defaults: a namespace of its own, storage "none", and this
 * device's time.
 */
export declare function openTestGuard(
  options?: Partial<GuardOptions> & {
    /** Unix ms. */
    now?: number;
  },
): Promise<
  SeenGuard & {
    /** Advances the guard's clock: items expire, and due deliveries start. */
    advance(ms: number): void;
  }
>;
