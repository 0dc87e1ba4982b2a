-- Returns the devices' lists if there are more than 8 (the core decides which of them are removed), and the time.
return answer_of(function()
  keep(unpack(ARGV))
  return { run('HLEN', KEYS[1]) > 8 and run('HVALS', KEYS[1]) or {}, millis() }
end)
