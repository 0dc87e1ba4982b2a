-- Replaces a user's list and hash, unless either has changed: scripts.ts explains the arguments.
return answer_of(function()
  local list, meta, forgotten = unpack(KEYS)
  if (run('HGET', meta, 'revision') or '0') ~= ARGV[1] then
    return 0
  end
  local first, last = tonumber(ARGV[2]), tonumber(ARGV[3])

  -- Once a script has written, Redis refuses it nothing for want of memory: so a history can be deleted, and of all else
  -- what needs memory comes first.
  if forgotten then
    run('DEL', forgotten)
  end
  if run('HINCRBY', meta, 'revision', 1) == 1 then
    -- Not one that the same user had before all of it expired.
    local time = run('TIME')
    run('HSET', meta, 'revision', time[1] .. string.format('%06d', time[2]))
  end
  local pushed = 0
  for index = 6, #ARGV do
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

  if ARGV[4] ~= '' then
    for field, value in pairs(cjson.decode(ARGV[4])) do
      if value then
        run('HSET', meta, field, value)
      else
        run('HDEL', meta, field)
      end
    end
  end
  for _, key in ipairs({ list, meta }) do
    if ARGV[5] == '0' then
      run('PERSIST', key)
    else
      run('EXPIRE', key, ARGV[5])
    end
  end
  return 1
end)
