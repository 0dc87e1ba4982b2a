-- Removes the dead letters of over 7 days.
local function expire(letters)
  run('XTRIM', letters, 'MINID', string.format('%d000', run('TIME')[1] - 604800))
end
