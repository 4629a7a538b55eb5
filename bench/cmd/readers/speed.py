import json
import pathlib
import platform
import time

import bloomery

KINDS = ["bloom", "standard", "split", "fuse8", "ribbon"]


def keys(start):
    return [f"https://example.org/{start + 7 * i:07d}" for i in range(10_000)]


PRESENT, ABSENT = keys(0), keys(2_000_000)


BATCH = 500  # some milliseconds


def rate(filter, keys):
    """Returns lookups a second in the fastest batch of a second."""
    best = asked = found = 0
    end = time.perf_counter() + 1
    while time.perf_counter() < end:
        batch = keys[asked % len(keys):][:BATCH]
        start = time.perf_counter()
        found += sum(key in filter for key in batch)
        best = max(best, BATCH / (time.perf_counter() - start))
        asked += BATCH
    if found < asked if keys is PRESENT else found > asked / 50:
        raise SystemExit(f"{filter.kind}: {found} of {asked} keys are found")
    return best


kinds = {}
for kind in KINDS:
    data = (pathlib.Path(__file__).parent / kind).read_bytes()
    start = time.perf_counter()
    filter = bloomery.loads(data)
    kinds[kind] = [1000 * (time.perf_counter() - start), rate(filter, PRESENT), rate(filter, ABSENT)]
print(json.dumps({"name": "Python " + platform.python_version(), "kinds": kinds}))
