-- Acknowledges an entry of a stream, and sets it aside in the second of the keys, unless another consumer has: 1 is the
-- group, 2 the entry, 3 why. Once a script has written, Redis refuses it nothing for want of memory.
return answer_of(function()
  if run('XACK', KEYS[1], ARGV[1], ARGV[2]) == 1 then
    local entry = run('XRANGE', KEYS[1], ARGV[2], ARGV[2])[1]
    if entry then
      run('XADD', KEYS[2], 'MAXLEN', '~', 10000, '*', 'code', ARGV[3], 'entry', ARGV[2], unpack(entry[2]))
    end
    run('XDEL', KEYS[1], ARGV[2])
  end
end)
