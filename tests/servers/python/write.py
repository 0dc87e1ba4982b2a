"""Runs the example's writer: makes the shards that the input names, and prints them."""

import json
import sys

from native import Shard

shards = []
for wanted in json.load(sys.stdin):
    shard = Shard(wanted["bits"], wanted["hashes"], int(wanted["seed"]), wanted["epoch"], wanted["expires"])
    for item in wanted["insert"]:
        shard.add(item)
    shards.append({"base64": shard.base64(), "count": shard.count})
check = Shard(13606609, 5)
json.dump({"shards": shards, "check": list(check.positions("1r8bq8r7q4izgx"))}, sys.stdout)
