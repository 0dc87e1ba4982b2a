-- Changes one person's list of shards, all at once, unless somebody else has changed it since it was read.
--
-- KEYS[1]  the list: one base64 shard an element, newest first
-- ARGV[1]  how many elements it had when it was read
-- ARGV[2]  the newest of them ('' when there was none)
-- ARGV[3]  how many of its oldest elements stay as they are
-- ARGV[4]  how many elements it may have at most
-- ARGV[5]  seconds from now on after which it expires
-- ARGV[6…] the new elements that lie above those that stay, oldest first
--
-- Returns 1, or 0 when the list is no longer the one that was read: then read it again, record again, try again.
-- Every change changes the newest element or the number of elements, so comparing these two is enough.

local list = KEYS[1]
local head = redis.call('LINDEX', list, 0) or ''
if redis.call('LLEN', list) ~= tonumber(ARGV[1]) or head ~= ARGV[2] then
  return 0
end

local replaced = tonumber(ARGV[1]) - tonumber(ARGV[3])
local added = #ARGV - 5

-- Mostly one element is replaced by one, the newest shard by itself with more bits in it. A full shard is replaced by
-- itself and a new one on top. Fewer come than go only where an element was unreadable or has expired.
if replaced > added then
  redis.call('LTRIM', list, replaced - added, -1)
  replaced = added
end
for number = 1, added do
  if number <= replaced then
    redis.call('LSET', list, replaced - number, ARGV[5 + number])
  else
    redis.call('LPUSH', list, ARGV[5 + number])
  end
end
redis.call('LTRIM', list, 0, tonumber(ARGV[4]) - 1)
redis.call('EXPIRE', list, ARGV[5])
return 1
