"""Asks the reader for all that cases.json has."""

import io
import json
import pathlib
import sys

import bloomery

FUNCTIONS = {"last byte": lambda b: b[-1] if b else 0, "zero": lambda b: 0}


def attempt(data, **options):
    """Opens a filter: any other error than a FilterError is a mistake of the reader."""
    try:
        return bloomery.loads(data, **options), None
    except bloomery.FilterError as error:
        assert str(error)
        return None, error


def one(c, data, keys, hashes):
    options = {}
    if "key" in c:
        options["key"] = bytes.fromhex(c["key"])
    if "function" in c:
        options["hash"] = FUNCTIONS[c["function"]]
    if "limit" in c:
        options["limit"] = c["limit"]
    filter, error = attempt(data, **options)
    if "error" in c:
        if filter:
            yield "it was opened"
        elif c["error"] not in ("any", error.code) or c.get("text", "") not in str(error):
            yield f"{error.code}: {error}"
        return
    if error:
        yield f"{error.code}: {error}"
        return
    if (filter.kind, filter.capacity, filter.error_rate) != (c["kind"], c["capacity"], c["rate"]):
        yield repr(filter)
    found = "".join(str(int(key in filter)) for key in keys[:len(c["found"])])
    if found != c["found"]:
        yield f"keys: {found}, want {c['found']}"
    found = "".join(str(int(filter.has_hash(hash))) for hash in hashes[:len(c["foundHashes"])])
    if found != c["foundHashes"]:
        yield f"hashes: {found}, want {c['foundHashes']}"


def damage(name, data):
    """Asks that a file is refused with any of its bytes changed, and with its end cut off.

    In a transport form a changed byte may be another code of the same payload.
    """
    plain = data.startswith(b"bloomery")
    for at in range(0, len(data), 1 + (len(data) >> 6)):
        changed = data[:at] + bytes([data[at] ^ 4]) + data[at + 1:]
        for part, what in ((data[:at], "cut at"), (changed, "changed at")):
            filter, error = attempt(part)
            if (plain or what == "cut at") if filter else error.code != "corrupt":
                yield f"{name}: {what} {at}: {error or 'opened'}"
    if attempt(data + b"\0")[0]:
        yield f"{name}: opened with a byte behind its end"


def misuse(path):
    """Asks for errors that name the mistake, and for all ways to give bytes."""
    filter = bloomery.load(str(path))
    for call in (lambda: filter.has(5), lambda: None in filter, lambda: bloomery.loads("words.bloom")):
        try:
            yield f"no error but {call()}"
        except TypeError:
            pass
    for key in ("key 1", b"key 1", bytearray(b"key 1"), memoryview(b"key 1")):
        if key not in filter:
            yield f"{key!r} is missing"
    data = path.read_bytes()
    for file in (path, io.BytesIO(data)):
        if "key 1" not in bloomery.load(file):
            yield f"load of {file}"
    if "key 1" not in bloomery.loads(bytearray(data)) or "key 1" not in bloomery.loads(memoryview(data)):
        yield "bytes that can change"


def main():
    here = pathlib.Path(__file__).parent
    manifest = json.loads((here / "cases.json").read_text())
    keys = [bytes.fromhex(key["hex"]) if "hex" in key else key["text"] for key in manifest["keys"]]
    hashes = [int(hash, 16) for hash in manifest["hashes"]]
    wrong = []
    for c in manifest["cases"]:
        data = bytearray((here / c["file"]).read_bytes())
        for at, value in c.get("changes") or ():
            data[at] = value
        name = {k: v for k, v in c.items() if not k.startswith("found")}
        wrong.extend(f"{name}: {text}" for text in one(c, data, keys, hashes))
    for name in manifest["fragile"]:
        wrong.extend(damage(name, (here / name).read_bytes()))
    wrong.extend(misuse(here / "v1-bloom-1e-2.golden"))
    print(f"{len(manifest['cases'])} cases, {len(wrong)} wrong")
    print("\n".join(wrong[:20]))
    sys.exit(bool(wrong) or len(manifest["cases"]) < 1000)


main()
