// Reads the filter files of bloomery and follows published filters; bloomery.d.ts says how. docs/format.md describes every byte.
// SPDX-License-Identifier: Apache-2.0

export class FilterError extends Error {
  constructor(code, message) {
    super(message);
    this.name = "FilterError";
    this.code = code;
  }
}

const fail = (code, message) => { throw new FilterError(code, message); };
const corrupt = (message) => fail("corrupt", message);

// Numbers of 64 bits are pairs of 32 bits, the upper ones first: BigInt would allocate. r holds results, the lowest 32 bits first.
const r = new Uint32Array(4);
const TWO32 = 2 ** 32;

// high returns the upper 32 bits of a × b. Doubles round the product by less than 2^12: the rest is near to 0.
const high = (a, b) => ((a * b - (Math.imul(a, b) >>> 0)) / TWO32 + 0.5) >>> 0;

function times(ah, al, bh, bl) {
  al >>>= 0;
  r[0] = Math.imul(al, bl);
  r[1] = high(al, bl) + Math.imul(ah, bl) + Math.imul(al, bh);
}

// product sets r to all 128 bits of a × b.
function product(ah, al, bh, bl) {
  ah >>>= 0;
  al >>>= 0;
  bh >>>= 0;
  bl >>>= 0;
  r[0] = Math.imul(al, bl);
  const mid = high(al, bl) + (Math.imul(al, bh) >>> 0) + (Math.imul(ah, bl) >>> 0);
  r[1] = mid;
  const upper = Math.floor(mid / TWO32) + high(al, bh) + high(ah, bl) + (Math.imul(ah, bh) >>> 0);
  r[2] = upper;
  r[3] = high(ah, bh) + Math.floor(upper / TWO32);
}

// fold sets r to the upper xor the lower 64 bits of a × b.
function fold(ah, al, bh, bl) {
  product(ah, al, bh, bl);
  r[0] ^= r[2];
  r[1] ^= r[3];
}

// scaled returns the upper 64 bits of h × n: a number below n.
function scaled(h, l, n) {
  product(h, l, Math.floor(n / TWO32), n);
  return r[3] * TWO32 + r[2];
}

// spread sets r to (x xor x>>s) × c.
function spread(h, l, s, ch, cl) {
  if (s < 32) {
    l ^= (l >>> s) | (h << (32 - s));
    h ^= h >>> s;
  } else {
    l ^= h >>> (s - 32);
  }
  times(h, l, ch, cl);
}

function add(a, i, h, l) {
  const low = a[i] + (l >>> 0);
  a[i] = low;
  a[i + 1] += h + (low >= TWO32);
}

const word = (b, i) => b[i] | (b[i + 1] << 8) | (b[i + 2] << 16) | (b[i + 3] << 24);

function mix(h, l) {
  spread(h, l, 30, 0xbf58476d, 0x1ce4e5b9);
  spread(r[1], r[0], 27, 0x94d049bb, 0x133111eb);
  r[0] ^= (r[0] >>> 31) | (r[1] << 1);
  r[1] ^= r[1] >>> 31;
}

// route returns the shard of a key, one of 2^bits.
function route(h, l, bits) {
  if (bits === 0) return 0;
  mix(h, l);
  return r[1] >>> (32 - bits);
}

const swapped = (x) => (x << 24) | ((x & 0xff00) << 8) | ((x >>> 8) & 0xff00) | (x >>> 24);

const SECRET = Uint8Array.from(
  ("b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671fcb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c" +
   "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364" +
   "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e").match(/../g),
  (hex) => parseInt(hex, 16));
const acc = new Uint32Array(16);
const START = [
  0xc2b2ae3d, 0, 0x85ebca87, 0x9e3779b1, 0x27d4eb4f, 0xc2b2ae3d, 0x9e3779f9, 0x165667b1,
  0xc2b2ae63, 0x85ebca77, 0x85ebca77, 0, 0x165667c5, 0x27d4eb2f, 0x9e3779b1, 0,
];

function xxh3(b, n, seed) {
  const [sh, sl] = seed;
  if (n > 240) return long(b, n, seed);
  if (n > 16) return middle(b, n, sh, sl);
  if (n > 8) {
    acc[0] = word(SECRET, 24) ^ word(SECRET, 32);
    acc[1] = word(SECRET, 28) ^ word(SECRET, 36);
    add(acc, 0, sh, sl);
    const l = acc[0] ^ word(b, 0), h = acc[1] ^ word(b, 4);
    acc[2] = word(SECRET, 40) ^ word(SECRET, 48);
    acc[3] = word(SECRET, 44) ^ word(SECRET, 52);
    subtract(acc, 2, sh, sl);
    acc[2] ^= word(b, n - 8);
    acc[3] ^= word(b, n - 4);
    fold(h, l, acc[3], acc[2]);
    add(acc, 2, r[1], r[0]);
    add(acc, 2, swapped(l), swapped(h));
    add(acc, 2, 0, n);
    return avalanche(acc[3], acc[2]);
  }
  if (n > 3) {
    acc[0] = word(SECRET, 8) ^ word(SECRET, 16);
    acc[1] = word(SECRET, 12) ^ word(SECRET, 20);
    subtract(acc, 0, sh ^ swapped(sl), sl);
    const l = acc[0] ^ word(b, n - 4), h = acc[1] ^ word(b, 0);
    // x xor x rotated by 49 xor x rotated by 24
    times(h ^ (l << 17 | h >>> 15) ^ (h << 24 | l >>> 8), l ^ (h << 17 | l >>> 15) ^ (l << 24 | h >>> 8), 0x9fb21c65, 0x1e98df25);
    const low = (r[1] >>> 3) + n; // 29 bits and n
    times(r[1], r[0] ^ low, 0x9fb21c65, 0x1e98df25);
    r[0] ^= (r[0] >>> 28) | (r[1] << 4);
    r[1] ^= r[1] >>> 28;
    return;
  }
  if (n > 0) {
    acc[0] = word(SECRET, 0) ^ word(SECRET, 4);
    acc[1] = 0;
    add(acc, 0, sh, sl);
    return finish(acc[1], acc[0] ^ ((b[0] << 16) | (b[n >> 1] << 24) | b[n - 1] | (n << 8)));
  }
  finish(sh ^ word(SECRET, 60) ^ word(SECRET, 68), sl ^ word(SECRET, 56) ^ word(SECRET, 64));
}

function subtract(a, i, h, l) {
  const low = a[i] - (l >>> 0);
  a[i] = low;
  a[i + 1] -= h + (low < 0);
}

// avalanche and finish are the last steps of the hash, for longer and for the shortest keys.
function avalanche(h, l) {
  spread(h, l, 37, 0x16566791, 0x9e3779f9);
  r[0] ^= r[1];
}

function finish(h, l) {
  spread(h, l, 33, 0xc2b2ae3d, 0x27d4eb4f);
  spread(r[1], r[0], 29, 0x165667b1, 0x9e3779f9);
  r[0] ^= r[1];
}

// blend adds 16 bytes of b to acc.
function blend(b, i, s, sh, sl) {
  acc[2] = word(SECRET, s);
  acc[3] = word(SECRET, s + 4);
  add(acc, 2, sh, sl);
  acc[4] = word(SECRET, s + 8);
  acc[5] = word(SECRET, s + 12);
  subtract(acc, 4, sh, sl);
  fold(acc[3] ^ word(b, i + 4), acc[2] ^ word(b, i), acc[5] ^ word(b, i + 12), acc[4] ^ word(b, i + 8));
  add(acc, 0, r[1], r[0]);
}

// begin sets acc to n × the first prime.
function begin(n) {
  times(0, n, 0x9e3779b1, 0x85ebca87);
  acc[0] = r[0];
  acc[1] = r[1];
}

function middle(b, n, sh, sl) {
  begin(n);
  if (n <= 128) {
    for (let i = ((n - 1) >> 5) * 16; i >= 0; i -= 16) {
      blend(b, i, 2 * i, sh, sl);
      blend(b, n - 16 - i, 2 * i + 16, sh, sl);
    }
    return avalanche(acc[1], acc[0]);
  }
  for (let i = 0; i < 128; i += 16) blend(b, i, i, sh, sl);
  avalanche(acc[1], acc[0]);
  acc[0] = r[0];
  acc[1] = r[1];
  for (let i = 128; i + 16 <= n; i += 16) blend(b, i, i - 125, sh, sl);
  blend(b, n - 16, 119, sh, sl);
  avalanche(acc[1], acc[0]);
}

function secretOf([sh, sl]) {
  const words = new Uint32Array(48);
  for (let i = 0; i < 48; i++) words[i] = word(SECRET, 4 * i);
  for (let i = 0; i < 48; i += 4) {
    add(words, i, sh, sl);
    subtract(words, i + 2, sh, sl);
  }
  const secret = new Uint8Array(192);
  for (let i = 0; i < 192; i++) secret[i] = words[i >> 2] >>> (8 * (i & 3));
  return secret;
}

function stripe(b, i, secret, s) {
  for (let j = 0; j < 16; j += 2) {
    const l = word(b, i + 4 * j), h = word(b, i + 4 * j + 4);
    const kl = (l ^ word(secret, s + 4 * j)) >>> 0, kh = (h ^ word(secret, s + 4 * j + 4)) >>> 0;
    add(acc, j ^ 2, h, l);
    add(acc, j, high(kl, kh), Math.imul(kl, kh));
  }
}

function long(b, n, seed) {
  const secret = seed.secret ??= secretOf(seed);
  acc.set(START);
  const stripes = (n - 1) >> 6;
  for (let i = 0; i < stripes; i++) {
    stripe(b, 64 * i, secret, 8 * (i & 15));
    if ((i & 15) < 15) continue;
    for (let j = 0; j < 16; j += 2) {
      times(acc[j + 1] ^ word(secret, 132 + 4 * j), acc[j] ^ (acc[j + 1] >>> 15) ^ word(secret, 128 + 4 * j), 0, 0x9e3779b1);
      acc[j] = r[0];
      acc[j + 1] = r[1];
    }
  }
  stripe(b, n - 64, secret, 121);
  const lanes = acc.slice();
  begin(n);
  for (let j = 0; j < 16; j += 4) {
    fold(lanes[j + 1] ^ word(secret, 15 + 4 * j), lanes[j] ^ word(secret, 11 + 4 * j), lanes[j + 3] ^ word(secret, 23 + 4 * j), lanes[j + 2] ^ word(secret, 19 + 4 * j));
    add(acc, 0, r[1], r[0]);
  }
  avalanche(acc[1], acc[0]);
}

// SipHash-2-4, on numbers of v: the first of them is v[0] and v[1].
const v = new Uint32Array(8);

function turn(i, j, bits) { // v[j] = rotate(v[j], bits) xor v[i]
  const l = v[j], h = v[j + 1];
  v[j] = ((l << bits) | (h >>> (32 - bits))) ^ v[i];
  v[j + 1] = ((h << bits) | (l >>> (32 - bits))) ^ v[i + 1];
}

function swap(i) { // rotates by 32
  const l = v[i];
  v[i] = v[i + 1];
  v[i + 1] = l;
}

function sipRounds(n) {
  for (; n > 0; n--) {
    add(v, 0, v[3], v[2]);
    turn(0, 2, 13);
    swap(0);
    add(v, 4, v[7], v[6]);
    turn(4, 6, 16);
    add(v, 0, v[7], v[6]);
    turn(0, 6, 21);
    add(v, 4, v[3], v[2]);
    turn(4, 2, 17);
    swap(4);
  }
}

function sip(b, n, key) {
  const text = [0x70736575, 0x736f6d65, 0x6e646f6d, 0x646f7261, 0x6e657261, 0x6c796765, 0x79746573, 0x74656462];
  for (let i = 0; i < 8; i++) v[i] = text[i] ^ word(key, (4 * i) & 15);
  const block = (h, l) => {
    v[6] ^= l;
    v[7] ^= h;
    sipRounds(2);
    v[0] ^= l;
    v[1] ^= h;
  };
  let i = 0;
  for (; i + 8 <= n; i += 8) block(word(b, i + 4), word(b, i));
  const rest = new Uint8Array(8);
  for (let j = 0; i + j < n; j++) rest[j] = b[i + j];
  rest[7] = n;
  block(word(rest, 4), word(rest, 0));
  v[4] ^= 0xff;
  sipRounds(4);
  r[0] = v[0] ^ v[2] ^ v[4] ^ v[6];
  r[1] = v[1] ^ v[3] ^ v[5] ^ v[7];
}

// Keys are bytes. Short ones of ASCII letters need no memory.
const scratch = new Uint8Array(256);
const encoder = new TextEncoder();

function hashKey(hash, key) {
  if (typeof key === "string") {
    const n = key.length;
    if (n <= scratch.length) {
      let i = 0;
      for (; i < n; i++) {
        const c = key.charCodeAt(i);
        if (c > 127) break;
        scratch[i] = c;
      }
      if (i === n) return hash(scratch, n);
    }
    key = encoder.encode(key);
  } else if (!(key instanceof Uint8Array)) {
    key = bytesOf(key, "a key is a string or a Uint8Array");
  }
  hash(key, key.length);
}

// bytesOf returns the bytes of a buffer or a view of one, also of another window.
function bytesOf(data, otherwise) {
  if (ArrayBuffer.isView(data)) return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  if (/^\[object (Shared)?ArrayBuffer\]$/.test(Object.prototype.toString.call(data))) return new Uint8Array(data);
  throw new TypeError(otherwise);
}

const CRC = Uint32Array.from({ length: 256 }, (_, x) => {
  for (let i = 0; i < 8; i++) x = (x >>> 1) ^ (x & 1 ? 0x82f63b78 : 0);
  return x;
});

function crc32c(b, from, to) {
  let c = -1;
  for (let i = from; i < to; i++) c = CRC[(c ^ b[i]) & 255] ^ (c >>> 8);
  return ~c >>> 0;
}

const hex = (x) => x.toString(16).padStart(8, "0");

function check(what, b, from, to, want) {
  const got = crc32c(b, from, to);
  if (got !== want >>> 0) corrupt(`${what}: checksum is ${hex(got)}, should be ${hex(want >>> 0)}`);
}

const KINDS = [
  "", "bloom", "standard", "partitioned", "split", "scalable", "sliced", "counting", "spectral", "stable", "cuckoo",
  "quotient", "fuse8", "fuse16", "fuse32", "ribbon", "growing", "window", "quorum", "striped",
  "map", "exact", "corrected",
];
const HEAD = 64, MIB = 1 << 20, CHUNK = 1 << 16;
const longOf = (b, i) => (word(b, i + 4) >>> 0) * TWO32 + (word(b, i) >>> 0); // rounded from 2^53 on: no length is
const tableSize = (payload) => 4 * Math.ceil(payload / MIB) + 4;

function header(b, i) {
  if (!"bloomery".startsWith(String.fromCharCode(...b.subarray(i, i + 8)))) corrupt("not a bloomery file");
  if (b.length - i < HEAD) corrupt(`data ends after ${b.length} bytes, before the end of the header`);
  check("header", b, i, i + 60, word(b, i + 60));
  const version = b[i + 8] | (b[i + 9] << 8), kind = b[i + 10] | (b[i + 11] << 8);
  const h = {
    kind: KINDS[kind], hash: b[i + 12], k: b[i + 13], seed: [word(b, i + 20), word(b, i + 16)], capacity: longOf(b, i + 24),
    rate: new DataView(b.buffer, b.byteOffset + i + 32).getFloat64(0, true), size: longOf(b, i + 40), payload: longOf(b, i + 48), extra: word(b, i + 56) >>> 0,
  };
  if (version !== 1) fail("version", `format ${version}, this reader knows format 1`);
  if (b[i + 14] || b[i + 15]) corrupt("reserved bytes of the header are not zero");
  if (h.hash > 2) fail("version", `hash ${h.hash} is not known to this reader`);
  if (h.payload % 8 || h.payload >= 2 ** 62) corrupt(`payload of ${h.payload} bytes`);
  if (!(h.rate >= 0 && h.rate < 1) || Object.is(h.rate, -0)) corrupt(`error rate ${h.rate}`);
  if (!Object.hasOwn(OPENERS, h.kind ?? "")) fail("unsupported", `kind ${h.kind || kind} is not supported by this reader, which takes ${Object.keys(OPENERS).join(", ")}`);
  return h;
}

// unpack returns the plain form of a transport form, or what a patch makes of old.
function unpack(b, limit, old) {
  const head = old ? 24 : 16;
  if (b.length < head) corrupt(`data ends after ${b.length} bytes`);
  check("transport form", b, 0, head - 4, word(b, head - 4));
  if (old && (word(b, 12) !== word(old, old.length - 4) || word(b, 16) !== word(old, 60))) corrupt("the patch is for another filter");
  const version = b[8] | (b[9] << 8);
  if (version !== 1) fail("version", `transport form ${version}, this reader knows 1`);
  if (b[10] || b[11]) corrupt("reserved bytes are not zero");
  const { payload } = header(b, head), table = tableSize(payload);
  if (payload > limit) fail("limit", `the filter takes ${payload} bytes, the limit is ${limit}`);
  let at = head + HEAD;
  // A chunk has 5 bytes or more: memory is bounded by what has arrived.
  if (at + 5 * Math.ceil(payload / CHUNK) + table > b.length) corrupt(`data ends after ${b.length} bytes`);
  const out = new Uint8Array(HEAD + payload + table);
  out.set(b.subarray(head, at));
  for (let from = HEAD; from < HEAD + payload; from += CHUNK) {
    const raw = out.subarray(from, Math.min(from + CHUNK, HEAD + payload)), start = at;
    const form = b[at], rice = b[at + 1];
    let size = b[at + 2] | (b[at + 3] << 8);
    if (form === 0 && size === 0) size = raw.length;
    else if (size >= raw.length) corrupt(`chunk at offset ${start} has a code of ${size} bytes for ${raw.length}`);
    at += 4 + size;
    if (at + table > b.length) corrupt(`data ends after ${b.length} bytes`);
    if (!openChunk(raw, form, rice, b.subarray(at - size, at))) corrupt(`chunk at offset ${start} to ${at}, form ${form}, makes no sense`);
  }
  if (at + table !== b.length) corrupt(`${b.length - at - table} bytes behind the end`);
  for (let i = old ? Math.min(HEAD + payload, HEAD + longOf(old, 48)) - 1 : 0; i >= HEAD; i--) out[i] ^= old[i];
  out.set(b.subarray(at), HEAD + payload);
  return out;
}

// openChunk fills raw, which is zeros, from its code; false if that is damaged.
function openChunk(raw, form, rice, code) {
  if (form === 0 || form === 3) {
    if (rice !== 0) return false;
    if (form === 3) return runs(raw, code);
    if (code.length !== raw.length) return false;
    raw.set(code);
    return true;
  }
  if (form > 2 || rice < 1 || rice > 18 || !gaps(raw, code, rice)) return false;
  if (form === 2) for (let i = 0; i < raw.length; i++) raw[i] ^= 255;
  return true;
}

function gaps(raw, code, rice) {
  const end = 8 * raw.length, mask = (1 << rice) - 1;
  const bits = (at) => word(code, at >> 3) >>> (at & 7); // 25 of them, zeros behind the end
  for (let at = 0, pos = 0; at >> 3 < code.length;) {
    const x = bits(at) & 0x1ffffff;
    if (x === 0) {
      at += 25;
      pos += 25 << rice;
      if (pos > end) return false;
      continue;
    }
    const zeros = 31 - Math.clz32(x & -x);
    at += zeros + 1;
    pos += (zeros << rice) + (bits(at) & mask);
    at += rice;
    if (pos >= end) return pos === end && (at + 7) >> 3 === code.length && (!(at & 7) || code[at >> 3] >> (at & 7) === 0);
    raw[pos >> 3] |= 1 << (pos & 7);
    pos++;
  }
  return false;
}

function runs(raw, code) {
  let at = 0, from = 0;
  while (from < raw.length) {
    const what = code[at] & 3;
    let x = 0;
    for (let unit = 1; ; unit *= 128) {
      if (at >= code.length || unit > 2 ** 63) return false;
      x += (code[at] & 127) * unit;
      if (code[at++] < 128) break;
    }
    const to = from + 8 * Math.floor(x / 4);
    if (to === from || to > raw.length) return false;
    const literal = what === 2 ? to - from : what === 3 ? 8 : 0;
    if (at + literal > code.length) return false;
    if (what === 1) raw.fill(255, from, to);
    for (let i = from; literal > 0 && i < to; i += literal) raw.set(code.subarray(at, at + literal), i);
    at += literal;
    from = to;
  }
  return at === code.length;
}

export function open(data, { key, hash, limit = 256 * MIB } = {}) {
  let b = bytesOf(data, "a filter is opened from an ArrayBuffer or a Uint8Array");
  const magic = String.fromCharCode(...b.subarray(0, 8));
  if (magic === "bloomsec") fail("unsupported", "the file is sealed: open it with its key by another program first");
  if (magic === "bloomdif") fail("unsupported", "the file is a patch, not a filter");
  if (magic === "bloompak") b = unpack(b, limit);
  const h = header(b, 0), end = HEAD + h.payload, size = end + tableSize(h.payload);
  if (b.length !== size) corrupt(`${b.length} bytes, the header says ${size}`);
  const opener = OPENERS[h.kind](h), hasher = hasherOf(h, key, hash);
  check("table of checksums", b, end, b.length - 4, word(b, b.length - 4));
  for (let i = 0; i * MIB < h.payload; i++) {
    const from = HEAD + i * MIB, to = Math.min(from + MIB, end);
    check(`payload at offset ${from} to ${to}`, b, from, to, word(b, end + 4 * i));
  }
  return new Filter(SECRETLY, h, hasher, opener(b.subarray(HEAD, end)));
}

// hasherOf returns what sets r to the hash of bytes.
function hasherOf(h, key, hash) {
  if (h.hash === 0) return (b, n) => xxh3(b, n, h.seed);
  let hasher;
  if (h.hash === 1) {
    if (key === undefined) fail("key", "the filter was made with a secret key: give it as { key }");
    const secret = bytesOf(key, "a secret key is a Uint8Array of 16 bytes").slice();
    if (secret.length !== 16) fail("key", `a secret key has 16 bytes, not ${secret.length}`);
    hasher = (b, n) => sip(b, n, secret);
  } else {
    if (hash === undefined) fail("key", "the filter was made with a hash function of its own: give it as { hash }");
    hasher = (b, n) => split64(hash(b.slice(0, n)));
  }
  hashKey(hasher, "bloomery: fingerprint of a hash key");
  if (r[0] !== h.seed[1] >>> 0 || r[1] !== h.seed[0] >>> 0) {
    fail("key", `the filter was made with another ${h.hash === 1 ? "secret key" : "hash function"}`);
  }
  return hasher;
}

function split64(x) {
  if (typeof x !== "bigint") throw new TypeError("a hash is a BigInt");
  r[0] = Number(x & 0xffffffffn);
  r[1] = Number((x >> 32n) & 0xffffffffn);
}

const SECRETLY = {}; // filters are made by open

export class Filter {
  #hasher;
  #find;

  constructor(secretly, h, hasher, find) {
    if (secretly !== SECRETLY) throw new TypeError("a filter is made by open()");
    this.kind = h.kind;
    this.capacity = h.capacity;
    this.errorRate = h.rate;
    this.bytes = h.payload;
    this.#hasher = hasher;
    this.#find = find;
    Object.freeze(this);
  }

  has(key) {
    hashKey(this.#hasher, key);
    return this.#find(r[1], r[0]);
  }

  hasHash(hash) {
    split64(hash);
    return this.#find(r[1], r[0]);
  }
}

export function follow(url, options = {}) {
  const f = new Followed(SECRETLY, url, options);
  return f.update().then(() => f);
}

export class Followed {
  #base;
  #options;
  #tag;
  #data;
  #timer;
  #busy;

  constructor(secretly, url, options) {
    if (secretly !== SECRETLY) throw new TypeError("a filter is made by follow()");
    this.#base = new URL(String(url).replace(/\/*$/, "/"), globalThis.location?.href);
    this.#options = options;
    this.version = this.checked = this.error = this.filter = null;
  }

  has(key) {
    return this.filter.has(key);
  }

  hasHash(hash) {
    return this.filter.hasHash(hash);
  }

  close() {
    clearTimeout(this.#timer);
    this.#timer = null;
  }

  update() {
    return this.#busy ??= this.#run().finally(() => { this.#busy = null; });
  }

  async #run() {
    const { every = 60000, changed } = this.#options, began = new Date();
    try {
      const fresh = await this.#take();
      this.error = null;
      this.checked = began;
      if (fresh) changed?.(this);
      return fresh;
    } catch (error) {
      this.error = error;
      throw error;
    } finally {
      if (this.filter && this.#timer !== null && every) {
        clearTimeout(this.#timer);
        this.#timer = setTimeout(() => this.update().catch(() => {}), every * (0.9 + Math.random() / 5));
        this.#timer.unref?.(); // Node.js ends without it
      }
    }
  }

  async #take() {
    const { filter, limit = 256 * MIB, older, verifyKey } = this.#options, have = this.version;
    if (!globalThis.crypto?.subtle) fail("unsupported", "following needs WebCrypto: a page by https or from localhost");
    const [index, tag] = await this.#get("index.json", 4 * MIB, this.#tag);
    if (!index) return false;
    const [name, e] = await entry(index, filter), fresh = have?.sum !== e.sum;
    if (verifyKey && !(e.signature && await crypto.subtle.verify("Ed25519", await publicKey(verifyKey), base64(e.signature), signed(name, e)))) fail("untrusted", "not signed by the given key");
    if (have && !older && (e.version < have.number || (e.version === have.number && fresh))) fail("older", `version ${e.version} is published, the copy is of version ${have.number}`);
    if (fresh) {
      if (e.bytes > limit) fail("limit", `the filter takes ${e.bytes} bytes, the limit is ${limit}`);
      const data = (have && await this.#patched(e, have.sum, limit)) || unpack((await this.#get(e.whole.file, e.whole.bytes))[0], limit);
      if (await sum(data) !== e.sum) corrupt("the filter has another sum than the index says");
      this.filter = open(data, this.#options);
      this.#data = data;
    }
    this.version = { number: e.version, made: e.made, sum: e.sum };
    this.#tag = tag;
    return fresh;
  }

  // #patched returns what patches make of the copy, if they do.
  async #patched(e, from, limit) {
    try {
      let data = this.#data;
      for (const p of chain(e, from)) data = unpack((await this.#get(p.file, p.bytes))[0], limit, data);
      return await sum(data) === e.sum && data;
    } catch {
      return null;
    }
  }

  // #get returns a file and its tag, nothing if it has not changed.
  async #get(file, most, tag) {
    const url = new URL(encodeURIComponent(file), this.#base), headers = {};
    if (tag && (globalThis.location?.origin ?? url.origin) === url.origin) headers["If-None-Match"] = tag; // others would have to allow it
    const response = await fetch(url, { cache: file === "index.json" ? "no-cache" : "default", headers });
    if (tag && response.status === 304) return [];
    if (!response.ok) fail("source", `${url}: the server answers ${response.status}`);
    const out = new Uint8Array(most), reader = response.body.getReader();
    let n = 0;
    for (let r = await reader.read(); !r.done; r = await reader.read()) {
      if (n + r.value.length > most) {
        reader.cancel().catch(() => {});
        corrupt(`${url} has more than ${most} bytes`);
      }
      out.set(r.value, n);
      n += r.value.length;
    }
    return [out.subarray(0, n), response.headers.get("ETag")];
  }
}

const base64 = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const sum = async (data) => Array.from(new Uint32Array(await crypto.subtle.digest("SHA-256", data)), (x) => hex(swapped(x) >>> 0)).join("");
const signed = (name, e) => new TextEncoder().encode(`bloomery published filter\n${JSON.stringify(name)}\n${e.version}\n${e.sum}\n${e.bytes}\n${e.made}\n`);

const publicKey = (pem) => crypto.subtle.importKey("spki", base64(pem.replace(/-----[^-]*-----|\s/g, "")), "Ed25519", false, ["verify"]);

async function entry(data, name) {
  let x;
  try {
    x = JSON.parse(new TextDecoder().decode(data));
  } catch {
    corrupt("the index is not JSON");
  }
  if (x?.bloomery !== 1) fail("version", `index of layout ${x?.bloomery}, this reader knows 1`);
  const names = Object.keys(x.filters ?? {});
  name ??= names.length === 1 ? names[0] : "";
  if (!names.includes(name)) fail("source", `which filter: the folder has ${names.slice(0, 10).join(", ") || "none"}`);
  const e = x.filters[name], count = (n) => Number.isSafeInteger(n) && n > 0;
  const piece = (p) => count(p?.bytes) && /^[^./\\:?#%][^/\\:?#%]*$/.test(p.file);
  if (!count(e?.version) || !count(e.bytes) || !piece(e.whole) || e.whole.bytes > e.bytes * 1.001 + 1024 || (e.patches ??= []).length > 1000 || !e.patches.every(piece) ||
    !(await sum(signed(name, e))).startsWith(e.check) || e.check?.length !== 16) corrupt(`the index entry of ${name} is not valid`);
  return [name, e];
}

// chain returns the patches with the fewest bytes, and fails if the whole filter has fewer.
function chain(e, from) {
  const best = new Map([[from, { bytes: 0, way: [] }]]);
  for (let again = true; again;) {
    again = false;
    for (const p of e.patches) {
      const at = best.get(p.from), bytes = at?.bytes + p.bytes;
      if (!at || bytes >= (best.get(p.to) ?? e.whole).bytes || bytes >= e.whole.bytes) continue;
      best.set(p.to, { bytes, way: [...at.way, p] });
      again = true;
    }
  }
  return best.get(e.sum).way;
}

// OPENERS check a header, and return what makes a payload into a lookup by hash.
const OPENERS = { bloom, standard: flat, partitioned: flat, split, fuse8: fuse, fuse16: fuse, fuse32: fuse, ribbon };

// bitsIn checks the size of an array of bits, in blocks of unit.
function bitsIn(h, unit, least, most) {
  if (h.size === 0 || h.size % unit) corrupt(`${h.size} bits are not whole blocks of ${unit}`);
  if (h.k < least || h.k > most) corrupt(`k = ${h.k}, kind ${h.kind} takes ${least} to ${most}`);
  if (h.payload !== 8 * Math.ceil(h.size / 64) || h.extra) corrupt(`payload of ${h.payload} bytes for ${h.size} bits`);
}

function bloom(h) {
  bitsIn(h, 512, 1, 16);
  const { k } = h, blocks = h.size / 512;
  // lanes reports whether n lanes from start on have the bits that the bytes of y name.
  const lanes = (b, at, start, n, yh, yl) => {
    for (let i = start; i < start + n; i++) {
      const pos = (i & 4 ? yh : yl) >>> (8 * (i & 3));
      if (!(b[at + 8 * (i & 7) + ((pos >> 3) & 7)] & (1 << (pos & 7)))) return false;
    }
    return true;
  };
  return (b) => (h, l) => {
    const at = 64 * scaled(h, l, blocks), start = r[1] >>> 29;
    times(h, l ^ h, 0x9fb21c65, 0x1e98df25);
    const yh = r[1], yl = r[0];
    if (k <= 8) return lanes(b, at, start, k, yh, yl);
    if (!lanes(b, at, 0, 8, yh, yl)) return false;
    fold(yh, yl, 0xd6e8feb8, 0x6659fd93);
    return lanes(b, at, start, k - 8, r[1], r[0]);
  };
}

function flat(h) {
  bitsIn(h, h.kind === "partitioned" ? h.k || 1 : 1, 1, 64);
  const { k } = h, slice = h.kind === "partitioned" ? h.size / k : 0, range = slice || h.size;
  return (b) => (h, l) => {
    for (let i = 0; i < k; i++) {
      spread(h, l, 32, 0xd6e8feb8, 0x6659fd93);
      const pos = i * slice + scaled(r[1], r[0], range);
      if (!(b[Math.floor(pos / 8)] & (1 << (pos & 7)))) return false;
      const low = l + 0x7f4a7c15;
      h = (h + 0x9e3779b9 + (low >= TWO32)) >>> 0;
      l = low >>> 0;
    }
    return true;
  };
}

const SALTS = [0x47b6137b, 0x44974d91, 0x8824ad5b, 0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31];

function split(h) {
  bitsIn(h, 256, 8, 8);
  const blocks = h.size / 256;
  return (b) => (h, l) => {
    const at = 32 * high(h, blocks);
    for (let i = 0; i < 8; i++) {
      const pos = Math.imul(l, SALTS[i]) >>> 27;
      if (!(b[at + 4 * i + (pos >> 3)] & (1 << (pos & 7)))) return false;
    }
    return true;
  };
}

function fuse(h) {
  const { kind, k: arity, extra: bits, size, capacity } = h, width = { fuse8: 1, fuse16: 2, fuse32: 4 }[kind];
  const directory = 64 * Math.ceil(2 ** bits / 4);
  if (arity !== 3 && arity !== 4) corrupt(`arity ${arity}`);
  if (bits > 20) corrupt(`2^${bits} shards`);
  if (size % 64 || h.payload !== directory + size / 8) corrupt(`payload of ${h.payload} bytes for ${size} bits in 2^${bits} shards`);
  const shifts = arity === 3 ? [18, 0] : [30, 15, 0];
  const slotOf = { 1: (b, i) => b[i], 2: (b, i) => b[i] | (b[i + 1] << 8), 4: word }[width];
  const drop = 32 - 8 * width;
  return (b) => {
    const offsets = new Float64Array(2 ** bits);
    let at = directory, items = 0;
    for (let i = 0; i < offsets.length; i++) {
      const keys = longOf(b, 16 * i), segments = word(b, 16 * i + 8) >>> 0, log = b[16 * i + 12], slots = segments * 2 ** log;
      offsets[i] = at;
      at += slots * width;
      items += keys;
      if (keys === 0 && segments === 0 && log === 0) continue;
      if (log < 6 || log > (arity === 3 ? 18 : 15) || segments < arity || slots >= TWO32) corrupt(`shard ${i}: ${segments} segments of 2^${log} slots`);
      if (keys > slots) corrupt(`shard ${i}: ${keys} keys in ${slots} slots`);
      if (at > b.length) corrupt(`shard ${i}: ${slots} slots do not fit`);
    }
    if (b.subarray(16 * offsets.length, directory).some((x) => x !== 0)) corrupt("the directory is not filled with zeros");
    if (at !== b.length || items !== capacity) corrupt(`the shards have ${items} keys and ${at} bytes, the header says ${capacity} and ${b.length}`);
    return (h, l) => {
      const shard = route(h, l, bits), entry = 16 * shard, segments = word(b, entry + 8) >>> 0, log = b[entry + 12];
      if (segments === 0) return false;
      const seed = word(b, entry + 12) >>> 8;
      if (seed !== 0) {
        times(0, seed, 0x9e3779b9, 0x7f4a7c15);
        spread(h ^ r[1], l ^ r[0], 33, 0xff51afd7, 0xed558ccd);
        spread(r[1], r[0], 33, 0xc4ceb9fe, 0x1a85ec53);
        h = r[1];
        l = (r[0] ^ (h >>> 1)) >>> 0;
      }
      const length = 2 ** log;
      let slot = scaled(h, l, (segments - arity + 1) * length);
      times(h & 0xffffff, l, 0xd6e8feb8, 0x6659fd93);
      let x = r[1] ^ slotOf(b, offsets[shard] + width * slot);
      for (let j = 0; j < arity - 1; j++) {
        slot += length;
        const s = shifts[j], low = s ? (l >>> s) | (h << (32 - s)) : l;
        x ^= slotOf(b, offsets[shard] + width * ((slot ^ (low & (length - 1))) >>> 0));
      }
      return x << drop === 0;
    };
  };
}

// BUMP is what a hash is mixed with for the next layer of a ribbon filter.
mix(0x9e3779b9 + 0x7269, 0x7f4a7c15 + 0x62626f6e);
const BUMP = [r[1], r[0]];

function ribbon(h) {
  const { k: columns, extra, payload } = h, words = extra & 255, bits = extra >>> 8;
  if (columns < 1 || columns > 32) corrupt(`${columns} columns`);
  if (words !== 1 && words !== 2) corrupt(`rows of ${words} words`);
  if (bits > 20) corrupt(`2^${bits} shards`);
  if (h.size !== 8 * payload || payload % 64 || payload < 64 * Math.ceil(2 ** bits / 4)) corrupt(`payload of ${payload} bytes for ${h.size} bits in 2^${bits} shards`);
  const bucket = words === 1 ? 128 : 512, bounds = words === 1 ? [128, 37, 15, 0] : [512, 87, 41, 0]; // by code
  const row = new Uint32Array(6), coefficients = new Uint32Array(4);

  // matches reports whether the row of a key, which begins at start, gives its fingerprint.
  function matches(b, at, narrow, h, l, start) {
    times(h, l ^ h, 0xd6e8feb8, 0x6659fd93);
    const print = r[1];
    times(h, l ^ h, 0x9fb21c65, 0x1e98df25);
    coefficients[0] = r[0] | 1;
    coefficients[1] = r[1];
    if (words === 2) {
      spread(r[1], r[0], 32, 0xa0761d64, 0x78bd642f);
      coefficients[2] = r[0];
      coefficients[3] = r[1];
    }
    row.fill(0);
    for (let i = 0, to = (start & 32) >> 5, shift = start & 31; i < 2 * words; i++, to++) {
      row[to] |= coefficients[i] << shift;
      if (shift) row[to + 1] |= coefficients[i] >>> (32 - shift);
    }
    const block = Math.floor(start / 64), n = columns + (block >= narrow), place = (block) => at + 8 * (block * columns + Math.max(0, block - narrow));
    const a = place(block), c = place(block + 2);
    for (let j = 0, i = 0; j < n; j++, i += 8) {
      let x = (word(b, a + i) & row[0]) ^ (word(b, a + i + 4) & row[1]) ^ (word(b, a + i + 8 * n) & row[2]) ^ (word(b, a + i + 8 * n + 4) & row[3]);
      if (words === 2) x ^= (word(b, c + i) & row[4]) ^ (word(b, c + i + 4) & row[5]);
      x ^= x >>> 16;
      x ^= x >>> 8;
      x ^= x >>> 4;
      if (((0x6996 >>> (x & 15)) ^ (print >>> j)) & 1) return false;
    }
    return true;
  }

  return (b) => {
    const limit = b.length / 8, shards = 2 ** bits;
    const first = new Uint32Array(shards + 1); // the first layer of a shard
    const lists = new Float64Array(2 * shards); // where the list of a shard is, and its length
    const layers = []; // of each: starts, narrow blocks, where blocks and codes are
    let dir = 0;
    for (let i = 0; i < shards; i++) {
      if (dir + 2 > limit) corrupt(`shard ${i}: the directory ends`);
      const n = longOf(b, 8 * dir), list = longOf(b, 8 * dir + 8);
      dir += 2;
      if (n > 12 || dir + 2 * n > limit || list > limit) corrupt(`shard ${i}: ${n} layers and ${list} listed`);
      lists[2 * i + 1] = list;
      for (let j = 0; j < n; j++, dir += 2) {
        const blocks = longOf(b, 8 * dir), narrow = longOf(b, 8 * dir + 8);
        if (blocks <= words || blocks * columns > limit || narrow > blocks || (narrow < blocks && columns === 32)) {
          corrupt(`shard ${i}: layer ${j} has ${blocks} blocks of ${columns} columns, ${narrow} of them narrow`);
        }
        layers.push(64 * (blocks - words), narrow, 8 * (blocks * columns + blocks - narrow), 0);
      }
      first[i + 1] = layers.length / 4;
    }
    let at = 64 * Math.ceil(dir / 8);
    for (let i = 0; i < shards; i++) {
      for (let j = 4 * first[i]; j < 4 * first[i + 1]; j += 4) {
        const size = layers[j + 2];
        layers[j + 2] = at;
        layers[j + 3] = at + size;
        at += size + 8 * Math.ceil(Math.ceil(layers[j] / bucket) / 32);
      }
      lists[2 * i] = at;
      at = 64 * Math.ceil((at + 8 * lists[2 * i + 1]) / 64);
      if (at > b.length) corrupt(`shard ${i} ends at ${at} bytes of ${b.length}`);
      for (let j = 1; j < lists[2 * i + 1]; j++) {
        const p = lists[2 * i] + 8 * j;
        if (compare(b, p, word(b, p - 4) >>> 0, word(b, p - 8) >>> 0) < 0) corrupt(`shard ${i}: the list is not sorted`);
      }
    }
    if (at !== b.length) corrupt(`${b.length - at} bytes behind the last shard`);
    return (h, l) => {
      const shard = route(h, l, bits);
      for (let i = 4 * first[shard]; i < 4 * first[shard + 1]; i += 4) {
        const start = scaled(h, l, layers[i]), code = Math.floor(start / bucket);
        if (start % bucket >= bounds[(b[layers[i + 3] + (code >> 2)] >> (2 * (code & 3))) & 3]) return matches(b, layers[i + 2], layers[i + 1], h, l, start);
        mix(h ^ BUMP[0], l ^ BUMP[1]);
        h = r[1];
        l = r[0];
      }
      for (let from = 0, to = lists[2 * shard + 1]; from < to;) {
        const middle = Math.floor((from + to) / 2), order = compare(b, lists[2 * shard] + 8 * middle, h, l);
        if (order === 0) return true;
        if (order < 0) from = middle + 1;
        else to = middle;
      }
      return false;
    };
  };
}

function compare(b, i, h, l) {
  const x = word(b, i + 4) >>> 0, y = word(b, i) >>> 0;
  return x - h || y - l;
}
