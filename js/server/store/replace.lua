-- Replaces a user's list and hash, unless somebody has changed either: scripts.ts explains the arguments.
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
return 1
