-- The operations of consumers on a stream: the first argument is the operation, the others are its arguments. They are
-- scripts because a full Redis would refuse a transaction, while it checks its memory only before a script's first
-- write.
local operations = {}

-- Removes the dead letters of over 7 days.
local function expire(letters)
  run('XTRIM', letters, 'MINID', string.format('%d000', run('TIME')[1] - 604800))
end

-- Creates a stream and a group of its consumers, unless they exist.
function operations.prepare(group)
  run('PERSIST', KEYS[1])
  local made = redis.pcall('XGROUP', 'CREATE', KEYS[1], group, '0', 'MKSTREAM')
  if made.err and not string.find(made.err, '^%-?BUSYGROUP ') then
    error(made, 0)
  end
end

-- Acknowledges entries, the arguments from the third on, and deletes them.
function operations.acknowledge()
  for index = 3, #ARGV do
    run('XACK', KEYS[1], ARGV[2], ARGV[index])
    run('XDEL', KEYS[1], ARGV[index])
  end
end

-- Acknowledges an entry, and adds it to the dead letters, the second key, unless another consumer has. Returns 0 if they
-- are full: then the entry stays.
function operations.set_aside(group, id, code)
  expire(KEYS[2])
  local bytes = run('MEMORY', 'USAGE', KEYS[2])
  if run('XLEN', KEYS[2]) >= 10000 or bytes and bytes >= 67108864 then
    return 0
  end
  if run('XACK', KEYS[1], group, id) == 1 then
    local entry = run('XRANGE', KEYS[1], id, id)[1]
    if entry then
      local fields = entry[2]
      -- Lua passes no more than about 8,000 arguments.
      if #fields > 2000 then
        fields = { 'content', string.sub(table.concat(fields, ' '), 1, 65536) }
      end
      run('XADD', KEYS[2], '*', 'code', code, 'entry', id, unpack(fields))
    end
    run('XDEL', KEYS[1], id)
  end
  return 1
end

-- Removes old dead letters, and a group's other consumers that have nothing and were idle for more than these
-- milliseconds.
function operations.tidy(group, own_name, idle_ms)
  expire(KEYS[2])
  for _, consumer in ipairs(run('XINFO', 'CONSUMERS', KEYS[1], group)) do
    local of = {}
    for index = 1, #consumer, 2 do
      of[consumer[index]] = consumer[index + 1]
    end
    if of.pending == 0 and of.idle > tonumber(idle_ms) and of.name ~= own_name then
      run('XGROUP', 'DELCONSUMER', KEYS[1], group, of.name)
    end
  end
end

return answer_of(function()
  return operations[ARGV[1]](ARGV[2], ARGV[3], ARGV[4])
end)
