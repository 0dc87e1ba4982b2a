-- Acknowledges an entry of a stream, and sets it aside in the second of the keys, unless another consumer has: 1 is the
-- group, 2 the entry, 3 why. Answers 0 if the second stream is full: then the entry stays. Once a script has written, Redis
-- refuses none of its commands when its memory is full.
return answer_of(function()
  expire(KEYS[2])
  local bytes = run('MEMORY', 'USAGE', KEYS[2])
  if run('XLEN', KEYS[2]) >= 10000 or bytes and bytes >= 67108864 then
    return 0
  end
  if run('XACK', KEYS[1], ARGV[1], ARGV[2]) == 1 then
    local entry = run('XRANGE', KEYS[1], ARGV[2], ARGV[2])[1]
    if entry then
      local fields = entry[2]
      -- Lua passes no more than about 8,000 arguments.
      if #fields > 2000 then
        fields = { 'content', string.sub(table.concat(fields, ' '), 1, 65536) }
      end
      run('XADD', KEYS[2], '*', 'code', ARGV[3], 'entry', ARGV[2], unpack(fields))
    end
    run('XDEL', KEYS[1], ARGV[2])
  end
  return 1
end)
