/** The entry `seenguard/lazy`: opens guards of `seenguard`, which is imported on first use. */
import type { GuardOptions, SeenGuard } from "../types/seenguard.js";

export async function open(options: GuardOptions): Promise<SeenGuard> {
  const entry = await import("seenguard");
  return entry.SeenGuard.open(options);
}
