"""Runs the example's functions: fills filters in the first argument's Redis, prints its answers and the snapshot."""

import json
import sys

import redis
from snapshot import snapshot

client = redis.Redis.from_url(sys.argv[1])
task = json.load(sys.stdin)
bloom = client.bf()
for key, filter in task["filters"].items():
    if filter.get("nonscaling"):
        bloom.create(key, filter["rate"], filter["capacity"], noScale=True)
    else:
        bloom.create(key, filter["rate"], filter["capacity"])
    if filter["insert"]:
        bloom.madd(key, *filter["insert"])
keys = list(task["filters"])
answers = [bloom.mexists(key, *task["ask"]) for key in keys]
shipped = snapshot(client, task["held"], *keys, "a missing key")
json.dump({"snapshot": shipped, "answers": [any(each) for each in zip(*answers)]}, sys.stdout)
