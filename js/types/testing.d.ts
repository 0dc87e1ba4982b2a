/**
 * `seenguard/testing`: a real guard without storage, document or network, whose clock is told. Importing it brings the
 * guard a `TextEncoder` and a `TextDecoder` where the platform has none, such as Jest's jsdom.
 */
import type { GuardOptions, SeenGuard } from "./seenguard.js";

/**
 * Opens a guard whose time stands still until `advance`. Without a namespace, storage and `now`: one of its own,
 * "none", and this device's time.
 */
export declare function openTestGuard(
  options?: Partial<GuardOptions> & {
    /** Unix ms. */
    now?: number;
  },
): Promise<
  SeenGuard & {
    /** Moves the guard's clock on: what expires does, and what is due to be delivered is. */
    advance(ms: number): void;
  }
>;
