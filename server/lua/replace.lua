-- Replaces a user's list and hash, unless either has changed: scripts.ts explains the arguments.
if state() ~= ARGV[1] then
  return 0
end
local first, last = tonumber(ARGV[2]), tonumber(ARGV[3])
local list, meta, forgotten = unpack(KEYS)
if forgotten then
  redis.call('DEL', forgotten)
end

-- What needs memory comes first: once a script has written, Redis refuses it nothing for want of memory.
local pushed = 0
for index = 6, #ARGV do
  if first > 0 then
    first = first - 1
    redis.call('LSET', list, first, ARGV[index])
  else
    redis.call('LPUSH', list, ARGV[index])
    pushed = pushed + 1
  end
end
last = last + pushed
if first > 0 or last < redis.call('LLEN', list) - 1 then
  redis.call('LTRIM', list, first, last)
end

if ARGV[4] ~= '' then
  local fields = cjson.decode(ARGV[4])
  for field, value in pairs(fields) do
    redis.call('HSET', meta, field, value)
  end
  for _, field in ipairs(redis.call('HKEYS', meta)) do
    if not fields[field] then
      redis.call('HDEL', meta, field)
    end
  end
end
for _, key in ipairs({ list, meta }) do
  if ARGV[5] == '0' then
    redis.call('PERSIST', key)
  else
    redis.call('EXPIRE', key, ARGV[5])
  end
end
return 1
