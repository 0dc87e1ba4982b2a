-- Redis's time in Unix milliseconds.
local function millis()
  local time = run('TIME')
  return time[1] .. string.format('%03d', math.floor(time[2] / 1000))
end

-- Stores a device's pending list in the last of the keys, unless a later one is stored.
local function store_pending(device, counter, text, now, seconds, lists_any)
  local key = KEYS[#KEYS]
  local stored = run('HGET', key, device)
  local stored_at, stored_text, stored_counter = string.match(stored or '', '^(%d+) (%w+%.(%w+)%..*)$')
  local is_named = device ~= '000000000000'
  if not is_named and stored_text and now - stored_at <= tonumber(seconds) then
    -- The newest 1,000 ids of all reports without a usable list, each of 8 characters after a head of 17.
    local head, list, stored_list = string.sub(text, 1, 17), string.sub(text, 18), string.sub(stored_text, 18)
    if string.sub(stored_list, 1, #list) == list then
      list = ''
    end
    text = string.sub(head .. list .. stored_list, 1, 8017)
  end
  if stored_counter and tonumber(stored_counter, 36) > tonumber(counter, 36) then
    return
  end
  -- An unchanged list is written again after an hour: it would expire while its device still sends it.
  if stored_text == text and now - stored_at <= 3600 then
    return
  end
  -- An empty list only replaces another one.
  if not stored and lists_any ~= '1' then
    return
  end
  if not stored and is_named and run('HLEN', key) >= 32 then
    error({ err = 'LIMIT more than 32 devices of a user' }, 0)
  end
  run('HSET', key, device, now .. ' ' .. text)
  run('EXPIRE', key, seconds)
end
