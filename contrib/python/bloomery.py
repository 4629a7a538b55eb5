"""Reads the filter files of bloomery: one file, no dependencies, Python 3.9 or later.

    import bloomery
    words = bloomery.load("words.bloom")
    "alice" in words  # False is certain, True may be a false positive

follow(url) opens a filter that bloomery publish has published, and keeps it up to date.

Kinds bloom, standard, partitioned, split, fuse8, fuse16, fuse32 and ribbon, in the plain and in the
transport form. docs/format.md of bloomery describes every byte.

SPDX-License-Identifier: Apache-2.0
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import random
import re
import struct
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import weakref
from array import array
from typing import Any, BinaryIO, Callable, Optional, Union

__all__ = ["Filter", "FilterError", "Followed", "follow", "load", "loads"]

Key = Union[str, bytes, bytearray, memoryview]
Find = Callable[[int], bool]  # reports whether the key with this hash may be in the set

_MASK = (1 << 64) - 1
_MIB = 1 << 20
_HEAD = 64
_CHUNK = 1 << 16


class FilterError(ValueError):
    """What is wrong with a file, or with what was given to open it.

    code is "corrupt", "version", "unsupported", "key" or "limit", and of follow "source", "untrusted" or "older".
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def _corrupt(message: str) -> FilterError:
    return FilterError("corrupt", message)


class Filter:
    """A filter that was opened by load or loads. Safe for concurrent use."""

    __slots__ = ("kind", "capacity", "error_rate", "bytes", "_hash", "_find")

    def __init__(self, head: _Header, hasher: Callable[[bytes], int], find: Find) -> None:
        self.kind = head.kind  # as "bloom" or "fuse8"
        self.capacity = head.capacity  # keys that it was made for
        self.error_rate = head.rate  # false positive rate asked for, 0 if not known
        self.bytes = head.payload  # of its array
        self._hash = hasher
        self._find = find

    def has(self, key: Key) -> bool:
        """Reports whether key may be in the set. A str is its UTF-8 bytes."""
        if isinstance(key, str):
            return self._find(self._hash(key.encode()))
        if isinstance(key, (bytes, bytearray, memoryview)):
            return self._find(self._hash(bytes(key)))
        raise TypeError("a key is a str or bytes, not " + type(key).__name__)

    __contains__ = has

    def has_hash(self, hash: int) -> bool:
        """Like has, for a key whose hash of 64 bits is known."""
        return self._find(hash & _MASK)

    def __repr__(self) -> str:
        return f"<bloomery.Filter {self.kind}, {self.capacity} keys, {self.bytes} bytes>"


def load(
    file: Union[str, os.PathLike, BinaryIO], *, key: Optional[bytes] = None,
    hash: Optional[Callable[[bytes], int]] = None, limit: int = 256 * _MIB,
) -> Filter:
    """Opens the filter in a file, given by its path or as a binary file. See loads."""
    if isinstance(file, (str, os.PathLike)):
        with open(file, "rb") as f:
            data = f.read()
    else:
        data = file.read()
    return loads(data, key=key, hash=hash, limit=limit)


def loads(
    data: Union[bytes, bytearray, memoryview], *, key: Optional[bytes] = None,
    hash: Optional[Callable[[bytes], int]] = None, limit: int = 256 * _MIB,
) -> Filter:
    """Opens the filter in data, after a check of all checksums.

    key is the secret key, 16 bytes, of a filter that was made with one. hash is the function of a
    filter that was made with a function: it returns 64 bits for the bytes of a key. limit is how many
    bytes a file in the transport form may unpack to. Raises FilterError.
    """
    data = bytes(data)
    if data[:8] == b"bloomsec":
        raise FilterError("unsupported", "the file is sealed: open it with its key by another program first")
    if data[:8] == b"bloomdif":
        raise FilterError("unsupported", "the file is a patch, not a filter")
    if data[:8] == b"bloompak":
        data = _unpack(data, limit)
    head = _Header(data)
    end = _HEAD + head.payload
    size = end + _table_size(head.payload)
    if len(data) != size:
        raise _corrupt(f"{len(data)} bytes, the header says {size}")
    opener = _OPENERS[head.kind](head)
    hasher = _hasher(head, key, hash)
    (sum_of_sums,) = struct.unpack_from("<I", data, size - 4)
    _check("table of checksums", data[end:-4], sum_of_sums)
    for i, want in enumerate(struct.unpack_from(f"<{(size - end) // 4 - 1}I", data, end)):
        start = _HEAD + i * _MIB
        stop = min(start + _MIB, end)
        _check(f"payload at offset {start} to {stop}", data[start:stop], want)
    return Filter(head, hasher, opener(data[_HEAD:end]))


# Following a published folder.

_INDEX = 4 * _MIB  # bytes of an index, at most


def follow(
    url: str, *, filter: Optional[str] = None, every: float = 60, verify_key: Optional[str] = None, older: bool = False,
    changed: Optional[Callable[[Followed], None]] = None, key: Optional[bytes] = None,
    hash: Optional[Callable[[bytes], int]] = None, limit: int = 256 * _MIB, timeout: float = 30,
) -> Followed:
    """Opens a filter of a folder that bloomery publish has made, and keeps it up to date by patches.

    filter is its name, if the folder has several. A thread asks every so many seconds, none if that
    is 0. verify_key is the key, in PEM, that versions have to be signed with. older takes older versions
    than the copy, too. changed is called with every new version. See loads for the rest. Raises
    FilterError, and OSError if there is no answer.
    """
    f = Followed(url, filter, verify_key, older, changed, dict(key=key, hash=hash, limit=limit), timeout)
    f.update()
    if every > 0:
        threading.Thread(target=_repeat, args=(weakref.ref(f), f._ended, every), daemon=True).start()
    return f


def _repeat(ref: Callable[[], Optional[Followed]], ended: threading.Event, every: float) -> None:
    while not ended.wait(every * random.uniform(0.9, 1.1)):
        f = ref()
        if f is None:
            return
        try:
            f.update()
        except Exception:  # f.error has it, also what changed has raised
            pass
        del f


class Followed:
    """A filter that is kept up to date, made by follow. Safe for concurrent use."""

    def __init__(self, url, name, verify_key, older, changed, options, timeout) -> None:
        self.filter: Optional[Filter] = None  # the present version
        self.version: dict[str, Any] = {}  # its number, when it was made, its sum
        self.checked = 0.0  # when the copy was last known to be the newest, in seconds since 1970
        self.error: Optional[Exception] = None  # why the last update failed
        self._base = url.rstrip("/") + "/"
        self._name, self._older, self._changed, self._options, self._timeout = name, older, changed, options, timeout
        self._verify = None if verify_key is None else _public_key(verify_key)
        self._tag: Optional[str] = None
        self._data = b""
        self._ended = threading.Event()
        self._lock = threading.Lock()  # one update at a time

    def has(self, key: Key) -> bool:
        """Reports whether key may be in the set. A str is its UTF-8 bytes."""
        return self.filter.has(key)

    __contains__ = has

    def has_hash(self, hash: int) -> bool:
        """Like has, for a key whose hash of 64 bits is known."""
        return self.filter.has_hash(hash)

    def close(self) -> None:
        """Ends the updates. The copy still answers."""
        self._ended.set()

    def update(self) -> bool:
        """Looks for a new version, and reports whether there was one. If that fails the old one stays."""
        with self._lock:
            began = time.time()
            try:
                fresh = self._take()
                self.checked, self.error = began, None
            except Exception as error:
                self.error = error
                raise
        if fresh and self._changed is not None:
            self._changed(self)
        return fresh

    def _take(self) -> bool:
        data, tag = self._get("index.json", _INDEX, self._tag)
        if data is None:
            return False
        name, e = _entry(data, self._name)
        if self._verify is not None and not _verified(self._verify, _signed(name, e), str(e.get("signature"))):
            raise FilterError("untrusted", "not signed by the given key")
        have, number, limit = self.version.get("sum"), self.version.get("number", 0), self._options["limit"]
        fresh = have != e["sum"]
        if not self._older and (e["version"] < number or e["version"] == number and fresh):
            raise FilterError("older", f"version {e['version']} is published, the copy is of version {number}")
        if fresh:
            if e["bytes"] > limit:
                raise FilterError("limit", f"the filter takes {e['bytes']} bytes, the limit is {limit}")
            encoding = self._patched(e, have, limit)
            if encoding is None:
                whole, _ = self._get(e["whole"]["file"], e["whole"]["bytes"])
                encoding = _unpack(whole, limit)
            if hashlib.sha256(encoding).hexdigest() != e["sum"]:
                raise _corrupt("the filter has another sum than the index says")
            self.filter = loads(encoding, **self._options)
            self._data = encoding
        self.version = {"number": e["version"], "made": e["made"], "sum": e["sum"]}
        self._tag = tag
        return fresh

    def _patched(self, e: dict, have: Optional[str], limit: int) -> Optional[bytes]:
        """Returns what patches make of the copy, None if the whole filter is needed."""
        chain = _chain(e, have)
        if chain is None:
            return None
        data = self._data
        try:
            for p in chain:
                patch, _ = self._get(p["file"], p["bytes"])
                data = _unpack(patch, limit, data)
        except (FilterError, OSError):
            return None
        return data if hashlib.sha256(data).hexdigest() == e["sum"] else None

    def _get(self, file: str, most: int, tag: Optional[str] = None) -> tuple[Optional[bytes], Optional[str]]:
        """Returns a file and its tag, None if it has not changed since it had a tag."""
        request = urllib.request.Request(self._base + urllib.parse.quote(file))
        if tag:
            request.add_header("If-None-Match", tag)
        try:
            with urllib.request.urlopen(request, timeout=self._timeout) as response:
                data = response.read(most + 1)
                if len(data) > most:
                    raise _corrupt(f"{file} has more than {most} bytes")
                return data, response.headers.get("ETag")
        except urllib.error.HTTPError as error:
            error.close()
            if tag and error.code == 304:
                return None, tag
            raise FilterError("source", f"{request.full_url}: the server answers {error.code}") from None


def _entry(data: bytes, name: Optional[str]) -> tuple[str, dict]:
    """Returns the name of a filter and what an index says of it."""
    try:
        index = json.loads(data)
    except ValueError:
        raise _corrupt("the index is not JSON") from None
    layout = index.get("bloomery") if isinstance(index, dict) else None
    if layout != 1:
        raise FilterError("version", f"index of layout {layout!r}, this reader knows 1")
    filters = index.get("filters")
    if not isinstance(filters, dict):
        filters = {}
    if name is None and len(filters) == 1:
        (name,) = filters
    if name not in filters:
        raise FilterError("source", f"which filter: the folder has {', '.join(sorted(filters)[:10]) or 'none'}")
    e = filters[name]
    if not isinstance(e, dict) or not _sound(e) or hashlib.sha256(_signed(name, e)).hexdigest()[:16] != e.get("check"):
        raise _corrupt(f"the index entry of {name} is not valid")
    return name, e


def _sound(e: dict) -> bool:
    """Reports whether an entry has the fields that it needs, and files beside the index alone."""
    def count(n: Any) -> bool:
        return isinstance(n, int) and 0 < n < 1 << 50

    def piece(p: Any) -> bool:
        return (isinstance(p, dict) and count(p.get("bytes")) and isinstance(p.get("file"), str)
                and re.fullmatch(r"[^./\\:?#%\x00-\x1f][^/\\:?#%\x00-\x1f]*", p["file"]) is not None)

    patches = e.setdefault("patches", [])
    return (count(e.get("version")) and count(e.get("bytes")) and isinstance(e.get("sum"), str) and isinstance(e.get("made"), str)
            and piece(e.get("whole")) and e["whole"]["bytes"] <= e["bytes"] + e["bytes"] // 1024 + 1024
            and isinstance(patches, list) and len(patches) <= 1000
            and all(piece(p) and isinstance(p.get("from"), str) and isinstance(p.get("to"), str) for p in patches))


def _chain(e: dict, have: Optional[str]) -> Optional[list[dict]]:
    """Returns the patches from a sum to that of e with the fewest bytes, None if the whole filter has fewer."""
    best: dict[Optional[str], tuple[int, list[dict]]] = {have: (0, [])}
    again = have is not None
    while again:
        again = False
        for p in e["patches"]:
            if p["from"] in best:
                size, way = best[p["from"]]
                size += p["bytes"]
                if size < min(best.get(p["to"], (e["whole"]["bytes"],))[0], e["whole"]["bytes"]):
                    best[p["to"]] = size, way + [p]
                    again = True
    return best[e["sum"]][1] if e["sum"] in best else None


def _signed(name: str, e: dict) -> bytes:
    """Returns what a signature is over."""
    quoted = json.dumps(name, ensure_ascii=False)
    return f"bloomery published filter\n{quoted}\n{e['version']}\n{e['sum']}\n{e['bytes']}\n{e['made']}\n".encode()


# Ed25519, of RFC 8032, to verify alone. Points are (X, Y, Z, T) with x = X/Z, y = Y/Z and T = XY/Z.

_P = 2**255 - 19
_ORDER = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, _P - 2, _P) % _P


def _point(data: bytes) -> Optional[tuple]:
    """Returns the point that 32 bytes stand for, None if there is none."""
    y = int.from_bytes(data, "little") & (1 << 255) - 1
    square = (y * y - 1) * pow(_D * y * y + 1, _P - 2, _P) % _P
    x = pow(square, (_P + 3) // 8, _P)
    if (x * x - square) % _P:
        x = x * pow(2, (_P - 1) // 4, _P) % _P
    odd = data[31] >> 7
    if y >= _P or (x * x - square) % _P or (x == 0 and odd):
        return None
    if x & 1 != odd:
        x = _P - x
    return x, y, 1, x * y % _P


def _plus(p: tuple, q: tuple) -> tuple:
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % _P, (p[1] + p[0]) * (q[1] + q[0]) % _P
    c, d = 2 * p[3] * q[3] * _D % _P, 2 * p[2] * q[2] % _P
    return (b - a) * (d - c) % _P, (d + c) * (b + a) % _P, (d - c) * (d + c) % _P, (b - a) * (b + a) % _P


def _many(n: int, p: tuple) -> tuple:
    sum_ = (0, 1, 1, 0)
    while n:
        if n & 1:
            sum_ = _plus(sum_, p)
        p = _plus(p, p)
        n >>= 1
    return sum_


def _public_key(pem: str) -> bytes:
    """Returns the 32 bytes of a public key in PEM."""
    try:
        der = base64.b64decode(re.sub(r"-----[^-]*-----|\s", "", pem), validate=True)
    except ValueError:
        der = b""
    if len(der) != 44 or der[:12] != bytes.fromhex("302a300506032b6570032100") or _point(der[12:]) is None:
        raise FilterError("key", "this is no Ed25519 public key in PEM")
    return der[12:]


def _verified(public: bytes, message: bytes, text: str) -> bool:
    try:
        signature = base64.b64decode(text, validate=True)
    except ValueError:
        return False
    if len(signature) != 64 or int.from_bytes(signature[32:], "little") >= _ORDER:
        return False
    key, r = _point(public), _point(signature[:32])
    if key is None or r is None:
        return False
    base = _point((4 * pow(5, _P - 2, _P) % _P).to_bytes(32, "little"))
    challenge = int.from_bytes(hashlib.sha512(signature[:32] + public + message).digest(), "little") % _ORDER
    left = _many(int.from_bytes(signature[32:], "little"), base)
    right = _plus(r, _many(challenge, key))
    return (left[0] * right[2] - right[0] * left[2]) % _P == 0 and (left[1] * right[2] - right[1] * left[2]) % _P == 0


# The envelope.

_KINDS = (
    "", "bloom", "standard", "partitioned", "split", "scalable", "sliced", "counting", "spectral", "stable",
    "cuckoo", "quotient", "fuse8", "fuse16", "fuse32", "ribbon", "growing", "window", "quorum", "striped",
    "map", "exact", "corrected",
)


def _table_size(payload: int) -> int:
    return 4 * -(-payload // _MIB) + 4


class _Header:
    """The first 64 bytes of a file, checked as far as that needs no knowledge of the kind."""

    def __init__(self, data: bytes, at: int = 0) -> None:
        b = data[at:at + _HEAD]
        if not b"bloomery".startswith(b[:8]):
            raise _corrupt("not a bloomery file")
        if len(b) < _HEAD:
            raise _corrupt(f"data ends after {len(data)} bytes, before the end of the header")
        (_, version, kind, self.hash, self.k, reserved, self.check, self.capacity, self.rate, self.size,
         self.payload, self.extra, checksum) = struct.unpack("<8sHHBBHQQdQQII", b)
        _check("header", b[:60], checksum)
        if version != 1:
            raise FilterError("version", f"format {version}, this reader knows format 1")
        if reserved:
            raise _corrupt("reserved bytes of the header are not zero")
        if self.hash > 2:
            raise FilterError("version", f"hash {self.hash} is not known to this reader")
        if self.payload % 8 or self.payload >= 1 << 62:
            raise _corrupt(f"payload of {self.payload} bytes")
        if not 0 <= self.rate < 1 or b[39] & 128:
            raise _corrupt(f"error rate {self.rate}")
        self.kind = _KINDS[kind] if 0 < kind < len(_KINDS) else str(kind)
        if self.kind not in _OPENERS:
            raise FilterError("unsupported", f"kind {self.kind} is not supported by this reader, which takes {', '.join(_OPENERS)}")


# CRC-32C takes two bytes at a step: one for each step would be half as fast.

def _crc_table() -> list[int]:
    """Returns the table for one byte."""
    one = list(range(256))
    for _ in range(8):
        one = [x >> 1 ^ (0x82F63B78 if x & 1 else 0) for x in one]
    return one


_CRC1 = _crc_table()
_CRC2: list[int] = []  # the table for two bytes, made when it is worth it


def _crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    one, two = _CRC1, _CRC2
    if len(data) > 4096 and not two:
        two.extend([one[(one[x & 255] ^ x >> 8) & 255] ^ one[x & 255] >> 8 for x in range(1 << 16)])
    even = len(data) & ~1 if two else 0
    for x in struct.unpack(f"<{even // 2}H", data[:even]):
        crc = two[crc & 0xFFFF ^ x] ^ crc >> 16
    for x in data[even:]:
        crc = one[crc & 255 ^ x] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def _check(what: str, data: bytes, want: int) -> None:
    got = _crc32c(data)
    if got != want:
        raise _corrupt(f"{what}: checksum is {got:08x}, should be {want:08x}")


# The transport form.

def _unpack(data: bytes, limit: int, old: Optional[bytes] = None) -> bytes:
    """Returns the plain form of a transport form, or what a patch makes of old."""
    start = 16 if old is None else 24
    if len(data) < start:
        raise _corrupt(f"data ends after {len(data)} bytes")
    version, reserved = struct.unpack_from("<HH", data, 8)
    _check("transport form", data[:start - 4], struct.unpack_from("<I", data, start - 4)[0])
    if old is not None and (data[:8] != b"bloomdif" or data[12:16] != old[-4:] or data[16:20] != old[60:64]):
        raise _corrupt("the patch is for another filter")
    if version != 1:
        raise FilterError("version", f"transport form {version}, this reader knows 1")
    if reserved:
        raise _corrupt("reserved bytes are not zero")
    payload = _Header(data, start).payload
    table = _table_size(payload)
    if payload > limit:
        raise FilterError("limit", f"the filter takes {payload} bytes, the limit is {limit}")
    at = start + _HEAD
    # A chunk has 5 bytes or more: memory is bounded by what has arrived.
    if at + 5 * -(-payload // _CHUNK) + table > len(data):
        raise _corrupt(f"data ends after {len(data)} bytes")
    parts = [data[start:at]]
    before = b"" if old is None else old[_HEAD:_HEAD + _Header(old).payload]
    for first in range(0, payload, _CHUNK):
        n = min(_CHUNK, payload - first)
        if at + 4 > len(data):
            raise _corrupt(f"data ends after {len(data)} bytes")
        offset = at
        form, rice, size = struct.unpack_from("<BBH", data, at)
        if form == 0 and size == 0:
            size = n
        elif size >= n:
            raise _corrupt(f"chunk at offset {offset} has a code of {size} bytes for {n}")
        at += 4 + size
        if at + table > len(data):
            raise _corrupt(f"data ends after {len(data)} bytes")
        raw = _chunk(n, form, rice, data[at - size:at])
        if raw is None:
            raise _corrupt(f"chunk at offset {offset} to {at}, form {form}, makes no sense")
        parts.append(_xor(raw, before[first:first + n]))
    if at + table != len(data):
        raise _corrupt(f"{len(data) - at - table} bytes behind the end")
    parts.append(data[at:])
    return b"".join(parts)


def _xor(a: bytes, b: bytes) -> bytes:
    """Returns a, xor b as far as that reaches."""
    if not b:
        return a
    return (int.from_bytes(a, "little") ^ int.from_bytes(b, "little")).to_bytes(len(a), "little")


def _chunk(n: int, form: int, rice: int, code: bytes) -> Optional[bytes]:
    """Returns the n bytes that a code stands for, None if it is damaged."""
    if form in (0, 3):
        if rice:
            return None
        if form == 3:
            return _runs(n, code)
        return code if len(code) == n else None
    if form > 2 or not 1 <= rice <= 18:
        return None
    raw = _gaps(n, code, rice)
    if raw is not None and form == 2:
        raw = raw.translate(_INVERTED)
    return raw


_INVERTED = bytes(range(255, -1, -1))


def _gaps(n: int, code: bytes, rice: int) -> Optional[bytes]:
    raw = bytearray(n)
    end = 8 * n
    mask = (1 << rice) - 1
    pos = at = 0
    while at >> 3 < len(code):
        x = int.from_bytes(code[at >> 3:(at >> 3) + 8], "little") >> (at & 7)
        zeros = (x & -x).bit_length() - 1
        if not 0 <= zeros < 32:  # a long gap, or the end of the code
            at += 32
            pos += 32 << rice
            if pos > end:
                return None
            continue
        pos += (zeros << rice) + (x >> zeros + 1 & mask)
        at += zeros + 1 + rice
        if pos >= end:
            last = at & 7
            complete = pos == end and at + 7 >> 3 == len(code) and (not last or code[at >> 3] >> last == 0)
            return bytes(raw) if complete else None
        raw[pos >> 3] |= 1 << (pos & 7)
        pos += 1
    return None


def _runs(n: int, code: bytes) -> Optional[bytes]:
    raw = bytearray()
    at = 0
    while len(raw) < n:
        x = shift = 0
        while True:
            if at >= len(code) or shift > 63:
                return None
            x |= (code[at] & 127) << shift
            shift += 7
            at += 1
            if code[at - 1] < 128:
                break
        size = 8 * (x >> 2)
        what = x & 3
        if size == 0 or len(raw) + size > n:
            return None
        literal = (0, 0, size, 8)[what]
        part = code[at:at + literal]
        if len(part) < literal:
            return None
        at += literal
        raw += (bytes(size), b"\xff" * size, part, part * (size // 8))[what]
    return bytes(raw) if at == len(code) else None


# Hashes.

def _hasher(head: _Header, key: Optional[bytes], hash: Optional[Callable[[bytes], int]]) -> Callable[[bytes], int]:
    if head.hash == 0:
        return _xxh3(head.check)
    if head.hash == 1:
        if key is None:
            raise FilterError("key", "the filter was made with a secret key: give it as key=")
        if len(key) != 16:
            raise FilterError("key", f"a secret key has 16 bytes, not {len(key)}")
        what, hasher = "secret key", _siphash(bytes(key))
    else:
        if hash is None:
            raise FilterError("key", "the filter was made with a hash function of its own: give it as hash=")
        what, function = "hash function", hash
        hasher = lambda key: function(key) & _MASK  # noqa: E731
    if hasher(b"bloomery: fingerprint of a hash key") != head.check:
        raise FilterError("key", f"the filter was made with another {what}")
    return hasher


_SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221"
    "b8084674f743248ee03590e6813a264c3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364eac5ac8334d3ebc3c581a0fffa1363eb"
    "170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)


def _word(b: bytes, at: int) -> int:
    return int.from_bytes(b[at:at + 8], "little")


def _fold(x: int, y: int) -> int:
    x *= y
    return (x ^ x >> 64) & _MASK


def _avalanche(x: int) -> int:
    x = (x ^ x >> 37) * 0x165667919E3779F9 & _MASK
    return x ^ x >> 32


def _finish(x: int) -> int:
    x = (x ^ x >> 33) * 0xC2B2AE3D27D4EB4F & _MASK
    x = (x ^ x >> 29) * 0x165667B19E3779F9 & _MASK
    return x ^ x >> 32


_PRIME = 0x9E3779B185EBCA87


def _xxh3(seed: int) -> Callable[[bytes], int]:
    """Returns XXH3 of 64 bits with a seed."""
    swapped = seed ^ int.from_bytes((seed & 0xFFFFFFFF).to_bytes(4, "big"), "little") << 32
    flip0 = seed ^ _word(_SECRET, 56) ^ _word(_SECRET, 64)
    flip3 = (int.from_bytes(_SECRET[:4], "little") ^ int.from_bytes(_SECRET[4:8], "little")) + seed & _MASK
    flip8 = (_word(_SECRET, 8) ^ _word(_SECRET, 16)) - swapped & _MASK
    flip16 = (_word(_SECRET, 24) ^ _word(_SECRET, 32)) + seed & _MASK
    flop16 = (_word(_SECRET, 40) ^ _word(_SECRET, 48)) - seed & _MASK
    words = struct.unpack("<24Q", _SECRET)
    secret = struct.pack("<24Q", *((w - seed if i & 1 else w + seed) & _MASK for i, w in enumerate(words)))
    # Secrets that do not begin at a word: seeds are added to what is read there.
    pair = lambda s: ((_word(_SECRET, s) + seed) & _MASK, (_word(_SECRET, s + 8) - seed) & _MASK)  # noqa: E731
    even = [pair(16 * i) for i in range(8)]
    odd = [pair(16 * i + 3) for i in range(7)]
    last = pair(119)

    def blend(b: bytes, at: int, key: tuple[int, int]) -> int:
        return _fold(_word(b, at) ^ key[0], int.from_bytes(b[at + 8:at + 16], "little") ^ key[1])

    def xxh3(b: bytes) -> int:
        n = len(b)
        if n <= 16:
            if n > 8:
                x, y = _word(b, 0) ^ flip16, _word(b, n - 8) ^ flop16
                swap = int.from_bytes(x.to_bytes(8, "little"), "big")
                return _avalanche(n + swap + y + _fold(x, y) & _MASK)
            if n > 3:
                x = (int.from_bytes(b[n - 4:], "little") | int.from_bytes(b[:4], "little") << 32) ^ flip8
                x ^= (x << 49 | x >> 15) ^ (x << 24 | x >> 40)
                x = (x & _MASK) * 0x9FB21C651E98DF25 & _MASK
                x = (x ^ (x >> 35) + n) * 0x9FB21C651E98DF25 & _MASK
                return x ^ x >> 28
            if n:
                return _finish((b[0] << 16 | b[n >> 1] << 24 | b[n - 1] | n << 8) ^ flip3)
            return _finish(flip0)
        if n > 240:
            return _long(b, secret)
        x = n * _PRIME
        if n <= 128:
            for i in range((n - 1) >> 5, -1, -1):
                x += blend(b, 16 * i, even[2 * i]) + blend(b, n - 16 - 16 * i, even[2 * i + 1])
            return _avalanche(x & _MASK)
        for i in range(8):
            x += blend(b, 16 * i, even[i])
        x = _avalanche(x & _MASK)
        for i in range(8, n // 16):
            x += blend(b, 16 * i, odd[i - 8])
        return _avalanche(x + blend(b, n - 16, last) & _MASK)

    return xxh3


def _long(b: bytes, secret: bytes) -> int:
    acc = [0xC2B2AE3D, _PRIME, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x85EBCA77, 0x27D4EB2F165667C5, 0x9E3779B1]

    def stripe(at: int, s: int) -> None:
        data, keys = struct.unpack_from("<8Q", b, at), struct.unpack_from("<8Q", secret, s)
        for i in range(8):
            x = data[i] ^ keys[i]
            acc[i ^ 1] = acc[i ^ 1] + data[i] & _MASK
            acc[i] = acc[i] + (x & 0xFFFFFFFF) * (x >> 32) & _MASK

    for i in range((len(b) - 1) >> 6):
        stripe(64 * i, 8 * (i & 15))
        if i & 15 == 15:
            for j, key in enumerate(struct.unpack_from("<8Q", secret, 128)):
                acc[j] = (acc[j] ^ acc[j] >> 47 ^ key) * 0x9E3779B1 & _MASK
    stripe(len(b) - 64, 121)
    x = len(b) * _PRIME
    for i in range(0, 8, 2):
        x += _fold(acc[i] ^ _word(secret, 11 + 8 * i), acc[i + 1] ^ _word(secret, 19 + 8 * i))
    return _avalanche(x & _MASK)


def _siphash(key: bytes) -> Callable[[bytes], int]:
    """Returns SipHash-2-4 with a key."""
    k0, k1 = struct.unpack("<QQ", key)

    def rounds(a: int, b: int, c: int, d: int, n: int) -> tuple[int, int, int, int]:
        for _ in range(n):
            a = a + b & _MASK
            b = (b << 13 | b >> 51) & _MASK ^ a
            a = (a << 32 | a >> 32) & _MASK
            c = c + d & _MASK
            d = (d << 16 | d >> 48) & _MASK ^ c
            a = a + d & _MASK
            d = (d << 21 | d >> 43) & _MASK ^ a
            c = c + b & _MASK
            b = (b << 17 | b >> 47) & _MASK ^ c
            c = (c << 32 | c >> 32) & _MASK
        return a, b, c, d

    def siphash(data: bytes) -> int:
        a, b, c, d = k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D, k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573
        n = len(data)
        data += bytes(7 - n % 8) + bytes([n & 255])
        for (m,) in struct.iter_unpack("<Q", data):
            a, b, c, d = rounds(a, b, c, d ^ m, 2)
            a ^= m
        a, b, c, d = rounds(a, b, c ^ 0xFF, d, 4)
        return a ^ b ^ c ^ d

    return siphash


# The kinds. Each checks its header and returns what makes a payload into a lookup.

def _bits(head: _Header, unit: int, least: int, most: int) -> None:
    """Checks the size of an array of bits, in blocks of unit."""
    if head.size == 0 or head.size % unit:
        raise _corrupt(f"{head.size} bits are not whole blocks of {unit}")
    if not least <= head.k <= most:
        raise _corrupt(f"k = {head.k}, kind {head.kind} takes {least} to {most}")
    if head.payload != 8 * -(-head.size // 64) or head.extra:
        raise _corrupt(f"payload of {head.payload} bytes for {head.size} bits")


def _bloom(head: _Header) -> Callable[[bytes], Find]:
    _bits(head, 512, 1, 16)
    blocks, k = head.size // 512, head.k

    def opened(b: bytes) -> Find:
        def find(h: int) -> bool:
            x = h * blocks
            at = x >> 64 << 6
            start = x >> 61 & 7
            y = (h ^ h >> 32) * 0x9FB21C651E98DF25 & _MASK
            for i in range(start, start + k) if k <= 8 else range(8):
                i &= 7
                pos = y >> 8 * i
                if not b[at + 8 * i + (pos >> 3 & 7)] >> (pos & 7) & 1:
                    return False
            if k > 8:
                y = _fold(y, 0xD6E8FEB86659FD93)
                for i in range(start, start + k - 8):
                    i &= 7
                    pos = y >> 8 * i
                    if not b[at + 8 * i + (pos >> 3 & 7)] >> (pos & 7) & 1:
                        return False
            return True

        return find

    return opened


def _flat(head: _Header) -> Callable[[bytes], Find]:
    parts = head.kind == "partitioned"
    _bits(head, head.k or 1 if parts else 1, 1, 64)
    k = head.k
    length = head.size // k if parts else head.size
    step = length if parts else 0

    def opened(b: bytes) -> Find:
        def find(h: int) -> bool:
            begin = 0
            for _ in range(k):
                pos = begin + (((h ^ h >> 32) * 0xD6E8FEB86659FD93 & _MASK) * length >> 64)
                if not b[pos >> 3] >> (pos & 7) & 1:
                    return False
                h = h + 0x9E3779B97F4A7C15 & _MASK
                begin += step
            return True

        return find

    return opened


_SALTS = (0x47B6137B, 0x44974D91, 0x8824AD5B, 0xA2B7289D, 0x705495C7, 0x2DF1424B, 0x9EFC4947, 0x5C6BFB31)


def _split(head: _Header) -> Callable[[bytes], Find]:
    _bits(head, 256, 8, 8)
    blocks = head.size // 256

    def opened(b: bytes) -> Find:
        def find(h: int) -> bool:
            at = (h >> 32) * blocks >> 32 << 5
            for salt in _SALTS:
                pos = h * salt >> 27 & 31
                if not b[at + (pos >> 3)] >> (pos & 7) & 1:
                    return False
                at += 4
            return True

        return find

    return opened


def _mix(x: int) -> int:
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & _MASK
    return x ^ x >> 31


def _fuse(head: _Header) -> Callable[[bytes], Find]:
    arity, shards_log = head.k, head.extra
    width = {"fuse8": 1, "fuse16": 2, "fuse32": 4}[head.kind]
    if arity not in (3, 4):
        raise _corrupt(f"arity {arity}")
    if shards_log > 20:
        raise _corrupt(f"2^{shards_log} shards")
    directory = 64 * -(-(1 << shards_log) // 4)
    if head.size % 64 or head.payload != directory + head.size // 8:
        raise _corrupt(f"payload of {head.payload} bytes for {head.size} bits in 2^{shards_log} shards")
    shifts = (18, 0) if arity == 3 else (30, 15, 0)
    fingerprint = (1 << 8 * width) - 1

    def opened(b: bytes) -> Find:
        offsets = array("Q")
        at, items = directory, 0
        for i in range(1 << shards_log):
            keys, entry = struct.unpack_from("<QQ", b, 16 * i)
            segments, log = entry & 0xFFFFFFFF, entry >> 32 & 255
            slots = segments << log
            offsets.append(at)
            if keys == segments == log == 0:
                continue
            if not 6 <= log <= (18 if arity == 3 else 15) or segments < arity or slots >= 1 << 32:
                raise _corrupt(f"shard {i}: {segments} segments of 2^{log} slots")
            if keys > slots:
                raise _corrupt(f"shard {i}: {keys} keys in {slots} slots")
            at += slots * width
            items += keys
            if at > len(b):
                raise _corrupt(f"shard {i}: {slots} slots do not fit")
        if any(b[16 << shards_log:directory]):
            raise _corrupt("the directory is not filled with zeros")
        if at != len(b) or items != head.capacity:
            raise _corrupt(f"the shards have {items} keys and {at} bytes, the header says {head.capacity} and {len(b)}")

        def find(h: int) -> bool:
            shard = _mix(h) >> 64 - shards_log
            entry = int.from_bytes(b[16 * shard + 8:16 * shard + 16], "little")
            segments = entry & 0xFFFFFFFF
            if not segments:
                return False
            if entry >> 40:
                h ^= (entry >> 40) * 0x9E3779B97F4A7C15 & _MASK
                h = (h ^ h >> 33) * 0xFF51AFD7ED558CCD & _MASK
                h = (h ^ h >> 33) * 0xC4CEB9FE1A85EC53 & _MASK
                h ^= h >> 33
            length = 1 << (entry >> 32 & 255)
            begin = offsets[shard]
            slot = h * ((segments - arity + 1) * length) >> 64
            i = begin + width * slot
            x = ((h & 0xFFFFFFFFFFFFFF) * 0xD6E8FEB86659FD93 >> 32) ^ int.from_bytes(b[i:i + width], "little")
            for shift in shifts:
                slot += length
                i = begin + width * (slot ^ h >> shift & length - 1)
                x ^= int.from_bytes(b[i:i + width], "little")
            return not x & fingerprint

        return find

    return opened


_BUMP = _mix(0x726962626F6E + 0x9E3779B97F4A7C15)


def _ribbon(head: _Header) -> Callable[[bytes], Find]:
    columns, words, shards_log = head.k, head.extra & 255, head.extra >> 8
    if not 1 <= columns <= 32:
        raise _corrupt(f"{columns} columns")
    if words not in (1, 2):
        raise _corrupt(f"rows of {words} words")
    if shards_log > 20:
        raise _corrupt(f"2^{shards_log} shards")
    if head.size != 8 * head.payload or head.payload % 64 or head.payload < 64 * -(-(1 << shards_log) // 4):
        raise _corrupt(f"payload of {head.payload} bytes for {head.size} bits in 2^{shards_log} shards")
    bucket, bounds = (128, (128, 37, 15, 0)) if words == 1 else (512, (512, 87, 41, 0))

    def matches(b: bytes, at: int, narrow: int, h: int, start: int) -> bool:
        x = h ^ h >> 32
        print_ = (x * 0xD6E8FEB86659FD93 & _MASK) >> 32
        a = x * 0x9FB21C651E98DF25 & _MASK
        row = a | 1
        if words == 2:
            row |= ((a ^ a >> 32) * 0xA0761D6478BD642F & _MASK) << 64
        row <<= start & 63
        block = start >> 6
        n = columns + (block >= narrow)
        places = [at + 8 * (i * columns + max(0, i - narrow)) for i in range(block, block + words + 1)]
        masks = [row >> 64 * i & _MASK for i in range(words + 1)]
        for j in range(0, 8 * n, 8):
            x = 0
            for place, mask in zip(places, masks):
                x ^= int.from_bytes(b[place + j:place + j + 8], "little") & mask
            if bin(x).count("1") + print_ & 1:
                return False
            print_ >>= 1
        return True

    def opened(b: bytes) -> Find:
        limit = len(b) // 8
        shards = []  # of each: its layers and its list
        at = 0
        for i in range(1 << shards_log):
            if at + 2 > limit:
                raise _corrupt(f"shard {i}: the directory ends")
            n, listed = struct.unpack_from("<QQ", b, 8 * at)
            at += 2
            if n > 12 or at + 2 * n > limit or listed > limit:
                raise _corrupt(f"shard {i}: {n} layers and {listed} listed")
            shapes = list(struct.iter_unpack("<QQ", b[8 * at:8 * at + 16 * n]))
            at += 2 * n
            for j, (blocks, narrow) in enumerate(shapes):
                if blocks <= words or blocks * columns > limit or narrow > blocks or narrow < blocks and columns == 32:
                    raise _corrupt(f"shard {i}: layer {j} has {blocks} blocks of {columns} columns, {narrow} of them narrow")
            shards.append((shapes, listed))
        at = 64 * -(-at // 8)
        for i, (shapes, listed) in enumerate(shards):
            layers = []  # of each: starts, narrow blocks, where blocks and codes are
            for blocks, narrow in shapes:
                starts = 64 * (blocks - words)
                codes = at + 8 * (blocks * columns + blocks - narrow)
                layers.append((starts, narrow, at, codes))
                at = codes + 8 * -(-(-(-starts // bucket)) // 32)
            end = at + 8 * listed
            if end > len(b):
                raise _corrupt(f"shard {i} ends at {end} bytes of {len(b)}")
            hashes = struct.unpack_from(f"<{listed}Q", b, at)
            if any(x > y for x, y in zip(hashes, hashes[1:])):
                raise _corrupt(f"shard {i}: the list is not sorted")
            shards[i] = (layers, frozenset(hashes))
            at = 64 * -(-end // 64)
        if at != len(b):
            raise _corrupt(f"the last shard ends at {at} bytes of {len(b)}")

        def find(h: int) -> bool:
            layers, hashes = shards[_mix(h) >> 64 - shards_log]
            for starts, narrow, at, codes in layers:
                start = h * starts >> 64
                code = start // bucket
                if start % bucket >= bounds[b[codes + (code >> 2)] >> 2 * (code & 3) & 3]:
                    return matches(b, at, narrow, h, start)
                h = _mix(h ^ _BUMP)
            return h in hashes

        return find

    return opened


_OPENERS = {
    "bloom": _bloom, "standard": _flat, "partitioned": _flat, "split": _split,
    "fuse8": _fuse, "fuse16": _fuse, "fuse32": _fuse, "ribbon": _ribbon,
}
