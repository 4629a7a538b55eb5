// The memory of every kind beside a Go map, a sorted array and a Redis set.
import { el, svg } from "./dom.js";
import { bytes, percent, whole } from "./format.js";

const names = { "go map": "Go map", "sorted array": "Sorted array", "redis set": "Redis set" };

export function bars() {
  const body = el("tbody");
  const root = el("section", { class: "card", "aria-labelledby": "bar-title" },
    el("h2", { id: "bar-title" }, "Memory of all kinds"),
    el("p", { class: "muted small" }, "Smallest first; exact sets follow, on a scale of their own. Kinds in grey do not serve the needs given above. The last column is the memory accesses of a lookup, at most."),
    el("table", { class: "cards bars" },
      el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "kind"), el("th", { scope: "col", class: "wide" }, "memory"), ["bits per key", "rate", "reads"].map((name) => el("th", { scope: "col", class: "r" }, name)))),
      body));
  return {
    root,
    show({ kinds }) {
      const groups = [kinds.filter((kind) => !kind.exact), kinds.filter((kind) => kind.exact)];
      body.replaceChildren(...groups.flatMap((group) => {
        const most = Math.max(1, ...group.map((kind) => kind.bytes));
        return group.map((kind) => row(kind, most));
      }));
      if (!kinds.length) body.append(el("tr", {}, el("td", { colspan: 5, class: "muted" }, "No kind can be compared for these figures.")));
    },
  };
}

function row(kind, most) {
  const share = Math.max(kind.bytes / most, 0.002);
  const fill = svg("svg", { class: "memory", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" }, svg("rect", { width: (100 * share).toFixed(2), height: 8 }));
  const type = kind.exact ? "exact" : kind.serves ? "serves" : "refused";
  const cell = (label, text) => el("td", { class: "r", "data-label": label }, text);
  return el("tr", { class: type, "data-kind": kind.name },
    el("th", { scope: "row", class: "wide" }, el("span", { class: "kind" }, names[kind.name] ?? kind.name), el("span", { class: "reason" }, sentence(kind))),
    el("td", { class: "wide", "data-label": "memory" }, el("div", { class: "bar-cell" }, fill, el("span", { class: "num nowrap" }, bytes(kind.bytes)))),
    cell("bits per key", kind.bits_per_key.toFixed(2)), cell("rate", kind.exact ? "exact" : percent(kind.error_rate)), cell("reads", whole(kind.lookup)));
}

function sentence(kind) {
  const text = kind.serves ? kind.reason : `Does not serve: ${kind.reason}`;
  return text.charAt(0).toUpperCase() + text.slice(1);
}
