import { open } from "./bloomery.js";

const KINDS = ["bloom", "standard", "split", "fuse8", "ribbon"];
const keys = (from) => Array.from({ length: 100_000 }, (_, i) => `https://example.org/${String(from + 7 * i).padStart(7, "0")}`);
const present = keys(0), absent = keys(2_000_000);

const BATCH = 4000; // some milliseconds, of which a browser's clock counts tenths

// rate returns lookups a second in the fastest batch of a second.
function rate(filter, keys) {
  let best = 0, asked = 0, found = 0;
  for (const end = performance.now() + 1000; performance.now() < end; asked += BATCH) {
    const from = asked % keys.length, start = performance.now();
    for (let i = from; i < from + BATCH; i++) if (filter.has(keys[i])) found++;
    best = Math.max(best, (1000 * BATCH) / (performance.now() - start));
  }
  if (keys === present ? found < asked : found > asked / 50) throw new Error(`${filter.kind}: ${found} of ${asked} keys are found`);
  return best;
}

// measure returns the milliseconds that opening takes, and both rates, for each kind.
export async function measure(read) {
  const all = {};
  for (const kind of KINDS) {
    const data = await read(kind);
    const start = performance.now(), filter = open(data), took = performance.now() - start;
    all[kind] = [took, rate(filter, present), rate(filter, absent)];
  }
  return all;
}
