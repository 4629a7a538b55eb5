"""Follows the folders of steps.json, which take turns at one address."""

import json
import pathlib
import sys

import bloomery

BASE = sys.argv[1] + "/"
STEPS = json.loads(pathlib.Path("steps.json").read_text())
KEY = pathlib.Path("key.pem").read_text()
calls, wrong, followed = [], [], None

for step in STEPS:
    changed, code = False, ""
    try:
        if followed is None:
            followed = bloomery.follow(BASE + step["dir"], every=0, verify_key=KEY, changed=calls.append)
            changed = True
        else:
            followed._base = BASE + step["dir"] + "/"
            changed = followed.update()
    except bloomery.FilterError as error:
        code = error.code
    got = {
        "dir": step["dir"], "error": code, "changed": changed, "version": followed.version["number"],
        "has": step["has"] in followed, "lacks": step["lacks"] not in followed, "kept": getattr(followed.error, "code", ""),
    }
    want = {**step, "has": True, "lacks": True, "kept": step["error"]}
    if got != want:
        wrong.append(f"{got}, want {want}")
if len(calls) != sum(step["changed"] for step in STEPS) or followed.checked <= 0:
    wrong.append(f"{len(calls)} calls of changed, {followed.checked}")
followed.close()
for options, code in [
    ({"filter": "other"}, "source"), ({"limit": 100}, "limit"), ({"verify_key": "x"}, "key"),
]:
    try:
        bloomery.follow(BASE + STEPS[-1]["dir"], every=0, **options)
        wrong.append(f"{options}: it was opened")
    except bloomery.FilterError as error:
        if error.code != code:
            wrong.append(f"{options}: {error.code}: {error}")

print(f"{len(STEPS)} steps, {len(wrong)} wrong")
print("\n".join(wrong))
sys.exit(bool(wrong) or len(STEPS) < 10)
