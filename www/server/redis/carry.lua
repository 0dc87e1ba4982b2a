-- Lets the events of one person that have been under way for long enough into the stream.
--
-- This is the demo's own: it makes the lag that a real pipeline has by itself. It is in Redis so that a server that is
-- killed loses nothing, and one script so that an event is always either still under way or in the stream.
-- The stream keeps its latest entries alone, more than any consumer is ever behind.
--
-- KEYS[1]  list: what is under way, oldest first, as "<arrival, Unix ms> <kind> <at, Unix ms> <id>"
-- KEYS[2]  hash: this person's `running` ('0' stops the stream) and `lagSeconds`
-- KEYS[3]  stream: impressions
-- KEYS[4]  set: the people of whom something is under way
-- ARGV[1]  the person
-- ARGV[2]  now, Unix ms
-- ARGV[3]  the lag in seconds where the hash has none
-- ARGV[4]  how many to let through at most
-- ARGV[5]  'reports' for entries as `seenguard-server consume` reads them, 'events' for those of layout.ts
--
-- Returns how many were let through.

local KEPT = 1000000
local control = redis.call('HMGET', KEYS[2], 'running', 'lagSeconds')
if control[1] == '0' then
  return 0
end
-- A report of one event, which arrived in the stream just now.
local function report(kind, at, id)
  local impression = string.format('{"id":%s,"at":%s}', cjson.encode(id), at)
  local lists = kind == 'seen' and { impression, '' } or { '', impression }
  local form = '{"namespace":%s,"receivedAt":%s,"impressions":[%s],"unseen":[%s]}'
  return string.format(form, cjson.encode('demo:' .. ARGV[1]), ARGV[2], lists[1], lists[2])
end

local latest = tonumber(ARGV[2]) - tonumber(control[2] or ARGV[3]) * 1000

for carried = 0, tonumber(ARGV[4]) - 1 do
  local entry = redis.call('LINDEX', KEYS[1], 0)
  if not entry then
    redis.call('SREM', KEYS[4], ARGV[1])
    return carried
  end
  local arrival, kind, at, id = string.match(entry, '^(%d+) (%a+) (%d+) (.*)$')
  if arrival and tonumber(arrival) > latest then
    return carried
  end
  redis.call('LPOP', KEYS[1])
  if arrival and ARGV[5] == 'reports' then
    redis.call('XADD', KEYS[3], 'MAXLEN', '~', KEPT, '*', 'user', ARGV[1], 'report', report(kind, at, id))
  elseif arrival then
    redis.call('XADD', KEYS[3], 'MAXLEN', '~', KEPT, '*', 'user', ARGV[1], 'kind', kind, 'id', id, 'at', at)
  else
    redis.call('XADD', KEYS[3], 'MAXLEN', '~', KEPT, '*', 'unreadable', entry)
  end
end
return tonumber(ARGV[4])
