-- The beginning of every script. `run` is redis.call that raises errors unchanged, with their code, in all versions of
-- Redis.
local function run(...)
  local answer = redis.pcall(...)
  if type(answer) == 'table' and answer.err then
    error(answer, 0)
  end
  return answer
end

-- Returns the result of a function, or nil and its error message. An error is a table or, from Redis 7 on, a string.
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

