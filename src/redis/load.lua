-- A user's list and hash, and what is kept of devices, as of one moment.
return answer_of(function()
  local _, refused
  if ARGV[1] then
    -- Where Redis refuses the write, all else goes on.
    _, refused = attempt(keep, unpack(ARGV))
  end
  -- What is no hash was refused above, and keeps nothing.
  local kept = redis.pcall('HVALS', KEYS[3])
  local revision = run('HGET', KEYS[2], 'revision') or '0'
  return {
    run('LRANGE', KEYS[1], 0, -1), run('HGETALL', KEYS[2]), revision, kept.err and {} or kept, refused or '', millis()
  }
end)
