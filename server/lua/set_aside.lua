-- Acknowledges an entry of a stream, and sets it aside in the second of the keys, unless another consumer has: 1 is the
-- group, 2 the entry, from 3 on is what to keep. Once a script has written, Redis refuses it nothing for want of memory.
return answer_of(function()
  if run('XACK', KEYS[1], ARGV[1], ARGV[2]) == 1 then
    run('XDEL', KEYS[1], ARGV[2])
    run('XADD', KEYS[2], 'MAXLEN', '~', 10000, '*', unpack(ARGV, 3))
  end
end)
