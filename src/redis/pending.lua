-- Stores a pending list. Returns the devices' lists if there are more than 8, of which the core decides which are removed, and
-- the time.
return answer_of(function()
  store_pending(unpack(ARGV))
  return { run('HLEN', KEYS[1]) > 8 and run('HVALS', KEYS[1]) or {}, millis() }
end)
