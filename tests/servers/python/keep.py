"""Keeps the texts that the input names, one after the other, and prints what is left out of a page for the last one."""

import json
import sys

from pending import contains, keep, shards

kept, task = {}, json.load(sys.stdin)
for now, text in task["texts"]:
    keep(kept, text, now)
left_out = shards(kept, text, task["forgetBefore"])
answers = [any(contains(shard, item) for shard in left_out) for item in task["ask"]]
json.dump({"answers": answers, "devices": list(kept)}, sys.stdout)
