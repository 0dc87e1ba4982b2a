-- A user's list, hash and its state, and what is kept of devices, as of one moment: scripts.ts explains the answer.
local kept = try('HVALS', KEYS[3]) or {}
return { redis.call('LRANGE', KEYS[1], 0, -1), redis.call('HGETALL', KEYS[2]), state(), kept, refused }
