-- Keeps what a device has pending, in the last of the keys: scripts.ts explains the arguments.

-- Of numbers to the base 36, in their shortest form. How Lua compares texts depends on the locale.
local function is_lower(one, other)
  if #one ~= #other then
    return #one < #other
  end
  for index = 1, #one do
    local digit, other_digit = string.byte(one, index), string.byte(other, index)
    if digit ~= other_digit then
      return digit < other_digit
    end
  end
  return false
end

-- Of the text of an empty list the last part is empty.
local function is_empty(text)
  return string.sub(text, -1) == '.'
end

-- Removes all but the latest devices, those with an empty list first, but not this one.
local function keep_latest(key, device, most)
  local all = run('HGETALL', key)
  local others = {}
  for index = 1, #all, 2 do
    if all[index] ~= device then
      local at = is_empty(all[index + 1]) and 0 or tonumber(string.match(all[index + 1], '^%d+')) or 0
      others[#others + 1] = { device = all[index], at = at }
    end
  end
  table.sort(others, function(one, other) return one.at > other.at end)
  for index = tonumber(most), #others do
    run('HDEL', key, others[index].device)
  end
end

local function keep(device, counter, text, now, seconds, most)
  local key = KEYS[#KEYS]
  local kept = run('HGET', key, device) or ''
  local kept_text, kept_counter = string.match(kept, '^%d+ (%w+%.(%w+)%..*)$')
  if kept_text == text or (kept_counter and is_lower(counter, kept_counter)) then
    return
  end
  if is_empty(text) and kept == '' then
    return
  end
  run('HSET', key, device, now .. ' ' .. text)
  run('EXPIRE', key, seconds)
  keep_latest(key, device, most)
end

