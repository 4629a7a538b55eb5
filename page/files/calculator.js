// The calculator. What is locked, in the order in which it was locked, is the state;
// it stands in the address, and the API computes all else from it.
import { address, delayed, el, style } from "./dom.js";
import { percent, whole, bytes } from "./format.js";
import { fieldset } from "./calculator-fields.js";
import { guide } from "./calculator-guide.js";
import { bars } from "./calculator-bars.js";
import { curves } from "./calculator-curves.js";
import { snippets } from "./calculator-copy.js";

const figures = ["n", "p", "m", "k", "bits"];
const others = ["needs", "cost", "absent", "key_bytes", "memory", "kind"];
const usual = "n=1e6&p=1%25";

export async function mount(root, ctx) {
  await style("calculator.css");
  const state = new State();
  const parts = { ctx, state, change };
  const fields = fieldset(parts);
  const pieces = [summary(parts), curves(parts), guide(parts), snippets(parts), bars(parts)];
  let last = null; // answer
  for (const piece of pieces.slice(1)) fold(piece, () => last);
  const problem = el("p", { class: "error", role: "alert" });
  const stale = el("p", { class: "muted", hidden: true }, "What follows is for the last figures that could be solved.");
  const results = el("div", { class: "grid", hidden: true }, pieces.map((piece) => piece.root));
  root.append(
    el("p", { class: "lead" }, "Lock what you know, and the rest is solved. Numbers take units: 10M, 64KiB, 0.1%, 1 in 1000."),
    examples(parts),
    fields.root,
    problem, stale, results,
  );

  let running = null;
  const compute = async () => {
    running?.abort();
    const mine = (running = new AbortController());
    try {
      const answer = await ctx.request(`calc?${state.params}`, { signal: mine.signal });
      problem.textContent = "";
      stale.hidden = true;
      results.hidden = false;
      results.classList.remove("old");
      fields.show(answer, {});
      last = answer;
      for (const piece of pieces) piece.show(answer);
      root.dataset.answer = String(state.params);
      ctx.announce(spoken(answer));
    } catch (error) {
      if (error.name === "AbortError") return;
      const faults = error.fields ?? {};
      fields.show(null, faults);
      for (const piece of pieces) piece.refuse?.(faults);
      const shown = Object.keys(faults).length > 0;
      problem.textContent = shown ? "" : error.message;
      stale.hidden = results.hidden;
      results.classList.add("old");
      root.dataset.answer = "";
    }
  };
  const later = delayed(compute, 150);

  // change is called by the parts when the state has changed.
  function change({ now = false, keep = false } = {}) {
    const url = address(state.params);
    if (keep) history.pushState(null, "", url);
    else history.replaceState(null, "", url);
    if (now) return compute();
    later();
  }

  addEventListener("popstate", () => {
    state.read(location.search);
    for (const part of [fields, ...pieces]) part.reset?.();
    compute();
  });
  for (const part of [fields, ...pieces]) part.reset?.();
  await compute();
}

// fold lets a piece be folded on a narrow screen, where only its title is shown at first. What is
// drawn needs a width, so it is drawn again when it is opened.
function fold(piece, answer) {
  const narrow = matchMedia("(max-width: 48rem)");
  const title = piece.root.querySelector("h2");
  const rest = [...piece.root.childNodes].filter((node) => node !== title);
  const summary = el("summary", {}, title);
  const details = el("details", { class: "fold", on: { toggle: () => details.open && answer() && piece.show(answer()) } }, summary, rest);
  const set = () => {
    details.open = !narrow.matches;
    summary.tabIndex = narrow.matches ? 0 : -1;
  };
  narrow.addEventListener("change", set);
  set();
  piece.root.append(details);
}

// State is the parameters of the address.
class State {
  constructor() {
    this.read(location.search);
  }

  read(search) {
    const given = new URLSearchParams(search);
    this.params = new URLSearchParams();
    for (const [name, value] of given) {
      if ((figures.includes(name) || others.includes(name)) && value && !this.params.has(name)) this.params.set(name, value);
    }
    if (![...given.keys()].length) this.params = new URLSearchParams(usual);
  }

  has(name) {
    return this.params.has(name);
  }

  get(name) {
    return this.params.get(name) ?? "";
  }

  set(name, value) {
    if (value) this.params.set(name, value);
    else this.params.delete(name);
  }

  // lock adds a figure, and unlocks what would make too many: two of n, p, m and the
  // bits per key give the others, and p and the bits per key follow from each other. It
  // returns what it has unlocked.
  lock(name, value) {
    const fresh = !this.has(name);
    this.set(name, value);
    if (!fresh || name === "k") return [];
    const gone = [];
    if (name === "p" && this.has("bits")) gone.push("bits");
    if (name === "bits" && this.has("p")) gone.push("p");
    const locked = [...this.params.keys()].filter((key) => ["n", "p", "m", "bits"].includes(key) && !gone.includes(key));
    if (locked.length > 2) gone.push(locked.find((key) => key !== name));
    for (const key of gone) this.params.delete(key);
    return gone;
  }

  // replace takes other figures and leaves the rest.
  replace(search) {
    for (const name of figures) this.params.delete(name);
    for (const [name, value] of new URLSearchParams(search)) this.params.set(name, value);
  }
}

// examples are places to start from.
function examples({ state, change, ctx }) {
  const list = [
    ["A million keys at 1%", "n=1e6&p=1%25"],
    ["100,000 keys in 64 KiB", "n=100k&m=64KiB"],
    ["10 bits per key", "bits=10"],
    ["1 in a million", "n=10M&p=1 in 1M"],
    ["Only 3 hashes", "n=1e6&p=1%25&k=3"],
  ];
  return el("nav", { class: "examples", "aria-label": "Examples" }, list.map(([text, search]) =>
    el("a", {
      class: "button",
      href: address(new URLSearchParams(search)),
      on: {
        click(event) {
          if (event.ctrlKey || event.metaKey || event.shiftKey) return;
          event.preventDefault();
          state.replace(search);
          change({ now: true, keep: true });
          ctx.announce(text);
        },
      },
    }, text)));
}

// summary is the result in words, and the real filters beside the textbook.
function summary() {
  const text = el("p", { class: "sum" });
  const better = el("p", { class: "muted" });
  const body = el("tbody");
  const root = el("section", { class: "card", "aria-labelledby": "sum-title" },
    el("h2", { id: "sum-title" }, "Result"), text, better,
    el("table", { class: "cards" },
      el("thead", {}, el("tr", {}, ["filter", "bits", "memory", "bits per key", "k", "false positive rate", "full"].map((name, i) =>
        el("th", { scope: "col", class: i ? "r" : null }, name)))),
      body));
  return {
    root,
    show({ textbook: t, better: b, filters, assumed }) {
      const guessed = assumed.length ? ` (${assumed.map((name) => `${name} is not given`).join(", ")})` : "";
      text.replaceChildren(el("strong", {}, whole(t.n)), " keys at a false positive rate of ", el("strong", {}, percent(t.p)), " take ",
        el("strong", {}, whole(t.m)), " bits, ", el("strong", {}, bytes(t.bytes)), ", and a key sets ", el("strong", {}, whole(t.k)), ` of them${guessed}.`);
      better.textContent = b ? betterText(t, b) : "";
      better.hidden = !b;
      const book = { name: "textbook", m: t.m, bytes: t.bytes, bits: t.bits, k: t.k, rate: t.rate, fill: null };
      body.replaceChildren(...[book, ...filters].map(row));
    },
  };
}

function row(f) {
  const cell = (label, text) => el("td", { class: "r", "data-label": label }, text);
  const name = el("th", { scope: "row", class: "wide" }, f.name, f.make ? [" ", el("code", { class: "muted" }, f.make)] : "");
  if (f.error) return el("tr", {}, name, el("td", { colspan: 6, class: "muted wide", "data-label": "none" }, f.error));
  return el("tr", { "data-filter": f.name }, name, cell("bits", whole(f.m)), cell("memory", bytes(f.bytes)), cell("bits per key", f.bits.toFixed(2)),
    cell("k", whole(f.k)), cell("false positive rate", precise(f.rate)), cell("full", f.fill === null ? "" : percent(f.fill)));
}

// precise has a digit more than usual: 1.004% is not 1%.
const precise = (p) => (p >= 1e-4 ? `${Number((100 * p).toPrecision(4))}%` : percent(p));

function betterText(t, b) {
  if (b.m !== t.m) return `k = ${whole(b.k)} would do with ${whole(b.m)} bits instead of ${whole(t.m)}.`;
  if (b.n !== t.n) return `k = ${whole(b.k)} would hold ${whole(b.n)} keys instead of ${whole(t.n)}.`;
  return `k = ${whole(b.k)} would have the rate ${percent(b.p)} instead of ${percent(t.p)}.`;
}

function spoken({ textbook: t, take }) {
  return `${whole(t.n)} keys, rate ${percent(t.p)}, ${whole(t.m)} bits, k ${t.k}, ${t.bits.toFixed(2)} bits per key. Advice: ${take}.`;
}
