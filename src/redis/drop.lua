-- Removes devices' pending lists, unless they have changed.
return answer_of(function()
  for index = 1, #ARGV, 2 do
    if run('HGET', KEYS[1], ARGV[index]) == ARGV[index + 1] then
      run('HDEL', KEYS[1], ARGV[index])
    end
  end
end)
