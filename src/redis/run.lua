-- What every script begins with: an error of Redis is answered unchanged, with its code, in any of its versions.
local function run(...)
  local answer = redis.pcall(...)
  if type(answer) == 'table' and answer.err then
    error(answer, 0)
  end
  return answer
end

-- What a script returns; or nothing, and the error, which is a table or, from Redis 7 on, its text.
local function attempt(script, ...)
  local is_done, answer = pcall(script, ...)
  if is_done then
    return answer, nil
  end
  return nil, type(answer) == 'table' and answer.err or answer
end

local function answer_of(script)
  local answer, refused = attempt(script)
  return refused and { err = refused } or answer
end

