/** localStorage is a help where it is to be had: reading the property throws where it is denied, and writing where it is full. */
export function tolerant<T>(use: () => T): T | undefined {
  try {
    return use();
  } catch {
    return undefined;
  }
}
