/**
 * The result of something that may throw; `undefined` if it does. Merely reading localStorage throws where it is
 * denied.
 */
export function attempt<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch {
    return undefined;
  }
}
