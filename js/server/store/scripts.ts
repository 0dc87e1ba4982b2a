/**
 * The two scripts that run in Redis. Both have the keys of the list (one shard an element, newest first) and of the
 * hash beside it.
 */

export interface Script {
  readonly text: string;
  readonly sha1: () => Promise<string>;
}

/** List and hash of the same moment: a history that was deleted must not meet the shards from before. */
export const READ = script(`return {redis.call('LRANGE', KEYS[1], 0, -1), redis.call('HGETALL', KEYS[2])}`);

/**
 * Replaces both, unless somebody has changed either since it was read: then it returns 0, else 1. Every change of the
 * list changes its newest element or its length. The hash is mostly empty, and is compared field by field.
 *
 * 1, 2: the list's length and its newest element ("" if it has none), as they were read; 3: the hash, as the JSON of
 * its fields; 4, 5: from which to which element of the list stays; 6: the hash as it should be, or "" if it stays; 7:
 * the seconds after which both expire, or "0"; from 8 on: the new elements before those that stay, the oldest first.
 */
export const REPLACE = script(`
if redis.call('LLEN', KEYS[1]) ~= tonumber(ARGV[1]) or (redis.call('LINDEX', KEYS[1], 0) or '') ~= ARGV[2] then
  return 0
end
local fields = 0
for field, value in pairs(cjson.decode(ARGV[3])) do
  if redis.call('HGET', KEYS[2], field) ~= value then
    return 0
  end
  fields = fields + 1
end
if redis.call('HLEN', KEYS[2]) ~= fields then
  return 0
end

redis.call('LTRIM', KEYS[1], ARGV[4], ARGV[5])
for index = 8, #ARGV do
  redis.call('LPUSH', KEYS[1], ARGV[index])
end
if ARGV[6] ~= '' then
  redis.call('DEL', KEYS[2])
  for field, value in pairs(cjson.decode(ARGV[6])) do
    redis.call('HSET', KEYS[2], field, value)
  end
end
for _, key in ipairs(KEYS) do
  if ARGV[7] == '0' then
    redis.call('PERSIST', key)
  else
    redis.call('EXPIRE', key, ARGV[7])
  end
end
return 1`);

function script(text: string): Script {
  let sha1: Promise<string> | undefined;
  return { text, sha1: () => (sha1 ??= sha1Of(text)) };
}

async function sha1Of(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-1", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
