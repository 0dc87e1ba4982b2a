"""Runs the example's writer: makes the shards that the input names, and prints them."""

import json
import sys

from native import Shard, or_reference

shards = []
task = json.load(sys.stdin)
for wanted in task["shards"]:
    shard = Shard(wanted["bits"], wanted["hashes"], int(wanted["seed"]), wanted["epoch"], wanted["expires"])
    for item in wanted["insert"]:
        shard.add(item)
    text = or_reference(shard.base64(), task["held"])
    shards.append({"base64": text, "count": shard.count})
check = Shard(13606609, 5)
json.dump({"shards": shards, "check": list(check.positions("1r8bq8r7q4izgx"))}, sys.stdout)
