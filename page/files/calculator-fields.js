// The five figures. A figure that is locked is given; the others are solved. Typing
// into a field locks it, and emptying it unlocks it.
import { el, svg } from "./dom.js";
import { bytes, percent, whole } from "./format.js";

const list = [
  { name: "n", title: "Keys", label: "n", help: "different keys in the filter", show: (t) => whole(t.n), hint: (t) => `${whole(t.n)} keys` },
  { name: "p", title: "False positive rate", label: "p", help: "share of absent keys that seem present", show: (t) => rate(t.p), hint: (t) => oneIn(t.p) },
  { name: "m", title: "Size", label: "m", help: "bits, or bytes with a unit", show: (t) => whole(t.m), hint: (t) => `${whole(t.m)} bits, ${bytes(t.bytes)}` },
  { name: "k", title: "Hashes", label: "k", help: "bits that a key sets", show: (t) => whole(t.k), hint: (t) => `${whole(t.k)} ${t.k === 1 ? "bit" : "bits"} set by a key` },
  { name: "bits", title: "Bits per key", label: "m / n", help: "size over keys", show: (t) => t.bits.toPrecision(4), hint: (t) => `${t.bits.toFixed(2)} bits per key` },
];

export function fieldset({ state, change, ctx }) {
  const fields = list.map((spec) => field(spec, { state, change, ctx, unlocked }));
  const root = el("div", { class: "calc-fields", role: "group", "aria-label": "Figures" }, fields.map((f) => f.root));

  function unlocked(names) {
    for (const f of fields) if (names.includes(f.name)) f.paint();
    if (names.length) ctx.announce(`${names.map(titleOf).join(", ")} unlocked`);
  }

  return {
    root,
    reset: () => fields.forEach((f) => f.reset()),
    show: (answer, faults) => fields.forEach((f) => f.show(answer?.textbook, faults[f.name])),
  };
}

const titleOf = (name) => list.find((spec) => spec.name === name).title;

function field(spec, { state, change, ctx, unlocked }) {
  const { name } = spec;
  const hint = el("span", { class: "hint", id: `hint-${name}` }, spec.help);
  const error = el("span", { class: "error", id: `error-${name}` });
  const input = el("input", {
    id: `calc-${name}`, name, autocomplete: "off", spellcheck: "false", inputmode: "text", maxlength: 64, "aria-describedby": `hint-${name} error-${name}`,
    on: { input: typed, focus: () => input.select() },
  });
  const lock = el("button", { type: "button", class: "icon lock", "aria-pressed": "false", "aria-label": `Lock ${spec.title}`, on: { click: toggle } }, padlock());
  const root = el("div", { class: "field calc-field", "data-field": name },
    el("label", { for: `calc-${name}` }, spec.title, " ", el("span", { class: "muted" }, spec.label)),
    el("div", { class: "with-lock" }, input, lock), hint, error);

  function typed() {
    const text = input.value.trim();
    unlocked(text ? state.lock(name, text) : (state.set(name, ""), []));
    paint();
    change();
  }

  function toggle() {
    if (state.has(name)) state.set(name, "");
    else if (input.value.trim()) unlocked(state.lock(name, input.value.trim()));
    paint();
    change({ now: true });
  }

  function paint() {
    const locked = state.has(name);
    lock.setAttribute("aria-pressed", String(locked));
    lock.title = locked ? `${spec.title} is given: press to have it solved` : `${spec.title} is solved: press to keep it`;
    root.classList.toggle("locked", locked);
  }

  function show(textbook, fault) {
    error.textContent = fault ?? "";
    if (fault) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
    if (!textbook) {
      if (!state.has(name)) input.value = "";
      hint.textContent = spec.help;
      return;
    }
    if (!state.has(name)) input.value = spec.show(textbook);
    else if (document.activeElement !== input) input.value = state.get(name);
    hint.textContent = spec.hint(textbook);
    paint();
  }

  function reset() {
    input.value = state.get(name);
    paint();
  }

  return { name, root, paint, show, reset };
}

// rate writes a solved rate so that it can be locked as it is.
function rate(p) {
  if (p >= 1) return "100%";
  if (p >= 1e-5) return `${Number((100 * p).toPrecision(4))}%`;
  return p.toPrecision(4);
}

function oneIn(p) {
  if (p >= 1) return "every answer is yes";
  const n = 1 / p;
  if (p < 1e-5) return percent(p);
  return `1 in ${whole(Number(n.toPrecision(n < 100 ? 3 : 6)))} (${percent(p)})`;
}

// padlock is drawn open or closed by the style sheet.
function padlock() {
  return svg("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" },
    svg("rect", { x: 3, y: 7, width: 10, height: 7, rx: 1.5, fill: "currentColor" }),
    svg("path", { class: "shackle", d: "M5 7V5a3 3 0 0 1 6 0v2", fill: "none", stroke: "currentColor", "stroke-width": 1.6 }));
}
