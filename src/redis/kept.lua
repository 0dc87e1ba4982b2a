-- Answers what is stored of devices if it is of more than 8 (the core decides which of them go), and the time.
return answer_of(function()
  keep(unpack(ARGV))
  return { run('HLEN', KEYS[1]) > 8 and run('HVALS', KEYS[1]) or {}, millis() }
end)
