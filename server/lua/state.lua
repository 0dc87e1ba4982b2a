-- Names the state of a user's list and hash. Every change of the list changes its newest element or its length.
local function state()
  local newest = redis.call('LINDEX', KEYS[1], 0) or ''
  local hash = redis.call('HGETALL', KEYS[2])
  local fields = {}
  for index = 1, #hash, 2 do
    fields[#fields + 1] = redis.sha1hex(#hash[index] .. ':' .. hash[index] .. hash[index + 1])
  end
  -- The order of a hash may change by itself.
  table.sort(fields)
  return redis.sha1hex(redis.call('LLEN', KEYS[1]) .. ':' .. #newest .. ':' .. newest .. table.concat(fields))
end
