-- Keeps what a device has pending in the last of the keys, unless something later stands there.
local function keep(device, counter, text, now, seconds, lists_any)
  local key = KEYS[#KEYS]
  local kept = run('HGET', key, device)
  local kept_text, kept_counter = string.match(kept or '', '^%d+ (%w+%.(%w+)%..*)$')
  if kept_text == text or (kept_counter and tonumber(kept_counter, 36) > tonumber(counter, 36)) then
    return
  end
  -- An empty list is kept in place of another one only.
  if kept or lists_any == '1' then
    run('HSET', key, device, now .. ' ' .. text)
    run('EXPIRE', key, seconds)
  end
end
