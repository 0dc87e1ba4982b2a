-- Replaces a user's list and hash, unless either has changed.
return answer_of(function()
  local list, meta, forgotten = unpack(KEYS)
  if (run('HGET', meta, 'revision') or '0') ~= ARGV[1] then
    return 0
  end
  local first, last, fields = tonumber(ARGV[2]), tonumber(ARGV[3]), 6 + ARGV[5]

  -- Redis checks its memory only before the first write of a script. So a deletion of the history begins with DEL, and
  -- all else with a write that needs memory.
  if forgotten then
    run('DEL', forgotten)
  end
  if run('HINCRBY', meta, 'revision', 1) == 1 then
    -- A revision from before the expiry of all data must not repeat.
    local time = run('TIME')
    run('HSET', meta, 'revision', time[1] .. string.format('%06d', time[2]))
  end
  local pushed = 0
  for index = 6, fields - 1 do
    if first > 0 then
      first = first - 1
      run('LSET', list, first, ARGV[index])
    else
      run('LPUSH', list, ARGV[index])
      pushed = pushed + 1
    end
  end
  last = last + pushed
  if first > 0 or last < run('LLEN', list) - 1 then
    run('LTRIM', list, first, last)
  end

  for index = fields, #ARGV, 2 do
    if ARGV[index + 1] == '' then
      run('HDEL', meta, ARGV[index])
    else
      run('HSET', meta, ARGV[index], ARGV[index + 1])
    end
  end
  for _, key in ipairs({ list, meta }) do
    if ARGV[4] == '0' then
      run('PERSIST', key)
    else
      run('EXPIRE', key, ARGV[4])
    end
  end
  return 1
end)
