"""Drives the document's functions over the Redis at the first argument's address: fills filters, and tells what they answer and what would be sent."""

import json
import sys

import redis
from seen import seen

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
told = {"seen": seen(client, *keys, "a user's filter that is not there"), "answers": [any(each) for each in zip(*answers)]}
json.dump(told, sys.stdout)
