// Code to copy: Go, redis-cli and the command line, for the kind that is chosen.
import { el } from "./dom.js";

export function snippets({ state, change }) {
  const select = el("select", { id: "copy-kind", "aria-describedby": "error-kind", on: { change: choose } });
  const fault = el("span", { class: "error", id: "error-kind", role: "alert" });
  const box = el("div", { class: "snippets" });

  function choose() {
    state.set("kind", select.value);
    change({ now: true });
  }

  return {
    root: el("section", { class: "card w5", "aria-labelledby": "copy-title" },
      el("h2", { id: "copy-title" }, "Copy"),
      el("div", { class: "field" }, el("label", { for: "copy-kind" }, "Kind"), select, fault), box),
    refuse(faults) {
      fault.textContent = faults.kind ?? "";
    },
    show({ kinds, kind, copy }) {
      fault.textContent = "";
      const choices = kinds.filter((k) => !k.exact && k.name !== "sliced").map((k) => k.name).sort();
      if (!choices.includes(kind)) choices.push(kind);
      select.replaceChildren(...choices.map((name) => el("option", { value: name, selected: name === kind }, name)));
      box.replaceChildren(...copy.map(({ id, title, text, note }) => el("div", { class: "snippet", "data-snippet": id },
        el("div", { class: "snippet-head" }, el("h3", {}, title),
          text ? el("button", { type: "button", "data-copy": `snippet-${id}`, "aria-label": `Copy ${title}` }, "Copy") : ""),
        text ? el("pre", { id: `snippet-${id}`, tabindex: 0, role: "region", "aria-label": title }, text) : "",
        note ? el("p", { class: "small muted" }, note) : "")));
    },
  };
}
