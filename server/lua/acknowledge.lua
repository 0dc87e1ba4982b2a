-- Acknowledges entries of a stream, and deletes them: 1 is the group, from 2 on are the entries. A full Redis would refuse
-- a transaction.
return answer_of(function()
  for index = 2, #ARGV do
    run('XACK', KEYS[1], ARGV[1], ARGV[index])
    run('XDEL', KEYS[1], ARGV[index])
  end
end)
