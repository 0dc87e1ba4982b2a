-- Lets the events of one person that have been under way for long enough into the stream.
--
-- This is the demo's own: it makes the lag that a real pipeline has by itself. It is in Redis so that a server that is
-- killed loses nothing, and one script so that an event is always either still under way or in the stream.
-- The stream keeps its latest entries alone, more than any consumer is ever behind.
--
-- KEYS[1]  list: what is under way, oldest first, as "<arrival, Unix ms> <the entry's fields, as a JSON list>"
-- KEYS[2]  hash: this person's `running` ('0' stops the stream) and `lagSeconds`
-- KEYS[3]  stream: impressions
-- KEYS[4]  set: the people of whom something is under way
-- ARGV[1]  the person
-- ARGV[2]  now, Unix ms
-- ARGV[3]  the lag in seconds where the hash has none
-- ARGV[4]  how many to let through at most
--
-- Returns how many were let through.

local KEPT = 1000000
local control = redis.call('HMGET', KEYS[2], 'running', 'lagSeconds')
if control[1] == '0' then
  return 0
end
local latest = tonumber(ARGV[2]) - tonumber(control[2] or ARGV[3]) * 1000

for carried = 0, tonumber(ARGV[4]) - 1 do
  local entry = redis.call('LINDEX', KEYS[1], 0)
  if not entry then
    redis.call('SREM', KEYS[4], ARGV[1])
    return carried
  end
  local arrival, fields = string.match(entry, '^(%d+) (%[.*%])$')
  if arrival and tonumber(arrival) > latest then
    return carried
  end
  redis.call('LPOP', KEYS[1])
  if arrival then
    redis.call('XADD', KEYS[3], 'MAXLEN', '~', KEPT, '*', unpack(cjson.decode(fields)))
  else
    redis.call('XADD', KEYS[3], 'MAXLEN', '~', KEPT, '*', 'unreadable', entry)
  end
end
return tonumber(ARGV[4])
