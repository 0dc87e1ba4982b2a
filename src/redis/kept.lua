return answer_of(function()
  return keep(unpack(ARGV))
end)
