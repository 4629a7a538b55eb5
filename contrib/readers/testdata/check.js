// Asks the reader for all that cases.json has. read(name) returns the bytes of a file.
import { open, Filter, FilterError } from "./bloomery.js";

const functions = { "last byte": (b) => BigInt(b[b.length - 1] ?? 0), zero: () => 0n };
const unhex = (text) => Uint8Array.from(text.match(/../g) ?? [], (x) => parseInt(x, 16));

// check returns how many cases there were, and what is wrong.
export async function check(read) {
  const { keys, hashes, cases, fragile } = JSON.parse(new TextDecoder().decode(await read("cases.json")));
  const texts = keys.map((key) => (key.hex ? unhex(key.hex) : key.text));
  const numbers = hashes.map((hash) => BigInt("0x" + hash));
  const files = new Map(), wrong = [];
  const load = async (name) => {
    if (!files.has(name)) files.set(name, new Uint8Array(await read(name)));
    return files.get(name).slice();
  };
  for (const c of cases) {
    const data = await load(c.file);
    for (const [at, value] of c.changes ?? []) data[at] = value;
    wrong.push(...one(c, data, texts, numbers).map((text) => `${JSON.stringify({ ...c, found: undefined, foundHashes: undefined })}: ${text}`));
  }
  for (const name of fragile) wrong.push(...damage(name, await load(name)));
  wrong.push(...misuse(await load("v1-bloom-1e-2.golden")));
  return { cases: cases.length, wrong };
}

// attempt opens a filter: any other error than a FilterError is a mistake of the reader.
function attempt(data, options) {
  try {
    return [open(data, options)];
  } catch (error) {
    if (!(error instanceof FilterError) || !error.message) throw error;
    return [null, error];
  }
}

function one(c, data, texts, numbers) {
  const options = {};
  if (c.key) options.key = unhex(c.key);
  if (c.function) options.hash = functions[c.function];
  if (c.limit) options.limit = c.limit;
  const [filter, error] = attempt(data, options);
  if (c.error) {
    if (filter) return ["it was opened"];
    if ((c.error !== "any" && error.code !== c.error) || !error.message.includes(c.text ?? "")) return [`${error.code}: ${error.message}`];
    return [];
  }
  if (error) return [`${error.code}: ${error.message}`];
  const wrong = [];
  if (filter.kind !== c.kind || filter.capacity !== c.capacity || filter.errorRate !== c.rate) wrong.push(`${filter.kind}, ${filter.capacity}, ${filter.errorRate}`);
  const found = texts.slice(0, c.found.length).map((key) => Number(filter.has(key))).join("");
  if (found !== c.found) wrong.push(`keys: ${found}, want ${c.found}`);
  const foundHashes = numbers.slice(0, c.foundHashes.length).map((hash) => Number(filter.hasHash(hash))).join("");
  if (foundHashes !== c.foundHashes) wrong.push(`hashes: ${foundHashes}, want ${c.foundHashes}`);
  return wrong;
}

// damage asks that a file is refused with any of its bytes changed, and with its end cut off. In a
// transport form a changed byte may be another code of the same payload.
function damage(name, data) {
  const wrong = [], plain = data[5] === "e".charCodeAt(0);
  for (let at = 0; at < data.length; at += 1 + (data.length >> 6)) {
    for (const [part, what] of [[data.slice(0, at), "cut at"], [data.map((x, i) => (i === at ? x ^ 4 : x)), "changed at"]]) {
      const [filter, error] = attempt(part, {});
      if (filter ? plain || what === "cut at" : error.code !== "corrupt") wrong.push(`${name}: ${what} ${at}: ${error ?? "opened"}`);
    }
  }
  if (attempt(Uint8Array.from([...data, 0]))[0]) wrong.push(`${name}: opened with a byte behind its end`);
  return wrong;
}

// misuse asks for errors that name the mistake, and for all ways to give bytes.
function misuse(data) {
  const filter = open(data), wrong = [];
  for (const [what, call] of Object.entries({
    "a number as key": () => filter.has(5), "no key": () => filter.has(), "a number as hash": () => filter.hasHash(5),
    "a text as file": () => open("words.bloom"), "no file": () => open(), "new Filter": () => new Filter(),
  })) {
    try {
      wrong.push(`${what}: ${call()}`);
    } catch (error) {
      if (!(error instanceof TypeError)) wrong.push(`${what}: ${error}`);
    }
  }
  const shifted = new Uint8Array(data.length + 3);
  shifted.set(data, 3);
  for (const bytes of [data.buffer, new DataView(data.buffer), shifted.subarray(3)]) {
    if (!open(bytes).has("key 1")) wrong.push(`bytes as ${bytes.constructor.name}`);
  }
  if (filter.has("\ud800") !== filter.has("\ufffd")) wrong.push("half a pair of surrogates");
  return wrong;
}
