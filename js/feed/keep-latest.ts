/**
 * Puts a value of a map last, and drops what was used longest ago, beyond so many, unless it is in use. Returns what it
 * dropped.
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
