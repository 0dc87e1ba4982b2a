-- Stores what a device has pending in the last of the keys, unless something later is there.
local function keep(device, counter, text, now, seconds, lists_any)
  local key = KEYS[#KEYS]
  local kept = run('HGET', key, device)
  local kept_at, kept_text, kept_counter = string.match(kept or '', '^(%d+) (%w+%.(%w+)%..*)$')
  if kept_counter and tonumber(kept_counter, 36) > tonumber(counter, 36) then
    return
  end
  -- An equal one is written again after an hour: it would expire while its device still sends it.
  if kept_text == text and now - kept_at <= 3600 then
    return
  end
  -- An empty list is stored in place of another one only.
  if not kept and lists_any ~= '1' then
    return
  end
  if not kept and run('HLEN', key) >= 32 then
    error({ err = 'LIMIT more than 32 devices of a user' }, 0)
  end
  run('HSET', key, device, now .. ' ' .. text)
  run('EXPIRE', key, seconds)
end
