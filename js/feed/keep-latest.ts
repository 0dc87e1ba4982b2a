/**
 * Moves a map's entry to the end, and removes the least recently used entries above a limit, except those in use.
 * Returns the removed ones.
 */
export function keepLatest<Value>(
  map: Map<string, Value>,
  key: string,
  value: Value,
  most: number,
  isInUse = (_: Value) => false,
): Value[] {
  map.delete(key);
  map.set(key, value);
  if (map.size <= most) return [];
  const dropped = [...map].filter(([, each]) => !isInUse(each)).slice(0, map.size - most);
  return dropped.map(([oldest, each]) => {
    map.delete(oldest);
    return each;
  });
}
