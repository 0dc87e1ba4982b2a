-- Reads a user's list and hash at once: see scripts.ts.
return {redis.call('LRANGE', KEYS[1], 0, -1), redis.call('HGETALL', KEYS[2])}
