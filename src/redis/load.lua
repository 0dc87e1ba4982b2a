-- Returns a user's list and hash, and the devices' pending lists.
return answer_of(function()
  local _, refused
  if ARGV[1] then
    -- If Redis refuses the write, the rest is loaded all the same.
    _, refused = attempt(store_pending, unpack(ARGV))
  end
  -- A key of another type was reported above.
  local lists = redis.pcall('HVALS', KEYS[3])
  local revision = run('HGET', KEYS[2], 'revision') or '0'
  return {
    run('LRANGE', KEYS[1], 0, -1), run('HGETALL', KEYS[2]), revision, lists.err and {} or lists, refused or '', millis()
  }
end)
