-- Removes old dead letters, and those of a group's consumers that have nothing and were idle for long: 1 is the group, 2 the
-- consumer that asks, 3 how many milliseconds are long.
return answer_of(function()
  expire(KEYS[2])
  for _, consumer in ipairs(run('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])) do
    local of = {}
    for index = 1, #consumer, 2 do
      of[consumer[index]] = consumer[index + 1]
    end
    if of.pending == 0 and of.idle > tonumber(ARGV[3]) and of.name ~= ARGV[2] then
      run('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], of.name)
    end
  end
end)
