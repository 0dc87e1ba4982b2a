"""Keeps the texts that the input names, one after the other, and prints what is left out of a page for the last one."""

import json
import sys

from pending import is_pending, keep, left_out

kept, task = {}, json.load(sys.stdin)
for now, text in task["texts"]:
    keep(kept, text, now)
ids = left_out(kept, text, task["forgetBefore"])
answers = [is_pending(item, ids) for item in task["ask"]]
json.dump({"answers": answers, "devices": list(kept)}, sys.stdout)
