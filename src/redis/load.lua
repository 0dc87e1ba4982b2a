-- A user's list and hash, and the devices' pending lists, as of one moment.
return answer_of(function()
  local _, refused
  if ARGV[1] then
    -- Where Redis refuses the write, all else goes on.
    _, refused = attempt(keep, unpack(ARGV))
  end
  -- Something else than a hash was refused above, and has nothing to load.
  local kept = redis.pcall('HVALS', KEYS[3])
  local revision = run('HGET', KEYS[2], 'revision') or '0'
  return {
    run('LRANGE', KEYS[1], 0, -1), run('HGETALL', KEYS[2]), revision, kept.err and {} or kept, refused or '', millis()
  }
end)
