// Follows the folders of steps.json, which take turns at one address, and returns what is wrong.
import { follow, Followed, FilterError } from "./bloomery.js";

export async function check(base) {
  const read = async (name) => (await fetch(new URL(name, base))).text();
  const steps = JSON.parse(await read("steps.json")), verifyKey = await read("key.pem"), wrong = [], real = globalThis.fetch;
  let now, calls = 0, filter;
  globalThis.fetch = (url, options) => real(String(url).replace("/live/", `/${now.dir}/`), options);
  try {
    for (now of steps) {
      let changed = false, code = "";
      try {
        if (filter) changed = await filter.update();
        else {
          filter = await follow(new URL("live", base), { verifyKey, every: 0, changed: () => { calls++; } });
          changed = true;
        }
      } catch (error) {
        if (!(error instanceof FilterError)) throw error;
        code = error.code;
      }
      const got = { dir: now.dir, error: code, changed, version: filter.version.number, has: filter.has(now.has), lacks: !filter.has(now.lacks), kept: filter.error?.code ?? "" };
      const want = { ...now, has: true, lacks: true, kept: now.error };
      if (JSON.stringify(got) !== JSON.stringify(want)) wrong.push(`${JSON.stringify(got)}, want ${JSON.stringify(want)}`);
    }
    if (calls !== steps.filter((s) => s.changed).length || !(filter instanceof Followed) || !(filter.checked <= new Date())) wrong.push(`${calls} calls of changed, ${filter.checked}`);
    filter.close();
    now = steps.at(-1);
    for (const [options, code] of [[{ filter: "other" }, "source"], [{ limit: 100 }, "limit"], [{ verifyKey: verifyKey.replace(/\w\w=/, "AA=") }, "untrusted"]]) {
      const error = await follow(new URL("live/", base), { every: 0, ...options }).then(() => null, (e) => e);
      if (error?.code !== code) wrong.push(`${JSON.stringify(options)}: ${error}`);
    }
  } finally {
    globalThis.fetch = real;
  }
  return { steps: steps.length, wrong };
}
