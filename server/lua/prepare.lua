-- Makes a stream and a group of its consumers, unless they are there: 1 is the group. Once a script has written, and be it
-- nothing, a full Redis refuses none of its commands.
return answer_of(function()
  run('PERSIST', KEYS[1])
  local made = redis.pcall('XGROUP', 'CREATE', KEYS[1], ARGV[1], '0', 'MKSTREAM')
  if made.err and not string.find(made.err, '^%-?BUSYGROUP ') then
    error(made, 0)
  end
end)
