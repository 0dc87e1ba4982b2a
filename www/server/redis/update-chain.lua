-- Changes what is stored of one person, all at once, unless somebody else has changed it since it was read.
--
-- KEYS[1]  the list: one base64 shard an element, newest first
-- KEYS[2]  the hash beside it: what was taken back, and when the history was deleted
-- ARGV[1]  how many elements the list had when it was read
-- ARGV[2]  the newest of them ('' when there was none)
-- ARGV[3]  the hash when it was read, as a JSON object of texts
-- ARGV[4]  how many of the list's oldest elements stay as they are
-- ARGV[5]  the hash as it should be, likewise
-- ARGV[6]  how many elements the list may have at most
-- ARGV[7]  seconds from now on after which both expire
-- ARGV[8…] the new elements that lie above those that stay, oldest first
--
-- Returns 1, or 0 when what is stored is no longer what was read: then read it again, change it again, try again.
-- Every change of the list changes its newest element or the number of elements, so comparing these two is enough. The
-- hash mostly has no field at all, and is compared field by field.

local list = KEYS[1]
local hash = KEYS[2]
local head = redis.call('LINDEX', list, 0) or ''
if redis.call('LLEN', list) ~= tonumber(ARGV[1]) or head ~= ARGV[2] then
  return 0
end
local fields = 0
for field, value in pairs(cjson.decode(ARGV[3])) do
  if redis.call('HGET', hash, field) ~= value then
    return 0
  end
  fields = fields + 1
end
if redis.call('HLEN', hash) ~= fields then
  return 0
end

local replaced = tonumber(ARGV[1]) - tonumber(ARGV[4])
local added = #ARGV - 7

-- Mostly one element is replaced by one, the newest shard by itself with more bits in it. A full shard is replaced by
-- itself and a new one on top. Fewer come than go only where an element was unreadable or has expired, or where the
-- history was deleted.
if replaced > added then
  redis.call('LTRIM', list, replaced - added, -1)
  replaced = added
end
for number = 1, added do
  if number <= replaced then
    redis.call('LSET', list, replaced - number, ARGV[7 + number])
  else
    redis.call('LPUSH', list, ARGV[7 + number])
  end
end
redis.call('LTRIM', list, 0, tonumber(ARGV[6]) - 1)
redis.call('EXPIRE', list, ARGV[7])

if ARGV[5] ~= ARGV[3] then
  redis.call('DEL', hash)
  for field, value in pairs(cjson.decode(ARGV[5])) do
    redis.call('HSET', hash, field, value)
  end
end
redis.call('EXPIRE', hash, ARGV[7])
return 1
