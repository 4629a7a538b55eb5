// The decision guide: questions whose answers are the needs of sizing.Advise.
import { el } from "./dom.js";

const questions = [
  ["immutable", "Are all keys known before the first query, and never change?"],
  ["growth", "May there be more keys than n?"],
  ["deletes", "Will keys be deleted?"],
  ["counts", "Do you ask how often a key was inserted?"],
  ["expiry", "Should keys be forgotten by age?"],
  ["writers", "Do several goroutines write at once, without a server?"],
  ["adversary", "May others choose keys in order to do harm?"],
  ["parquet", "Must it have the bytes of Parquet files?"],
];

const costs = [
  ["", "I do not know"],
  ["10", "next to nothing: a lookup in memory"],
  ["1k", "a read from an SSD"],
  ["5k", "a round trip in a data centre"],
  ["100k", "a read from a disk, or a remote API"],
  ["never", "it must never happen"],
];

const numbers = [
  ["absent", "What share of the queries is for absent keys?", "90%"],
  ["key_bytes", "How many bytes has a key, on average?", "16"],
  ["memory", "How much memory is there?", "64MiB"],
];

export function guide({ state, change }) {
  const advice = el("div", { class: "advice" });
  const error = el("p", { class: "error", id: "error-needs", role: "alert" });
  const boxes = questions.map(([name, text]) => {
    const box = el("input", { type: "checkbox", id: `need-${name}`, "aria-describedby": "error-needs", on: { change: answered } });
    return { name, box, row: el("div", { class: "question" }, box, el("label", { for: `need-${name}` }, text)) };
  });
  const cost = el("select", { id: "guide-cost", "aria-describedby": "error-cost", on: { change: () => pick("cost", cost.value) } }, costs.map(([value, text]) => el("option", { value }, text)));
  const texts = numbers.map(([name, text, example]) => {
    const input = el("input", { id: `guide-${name}`, placeholder: example, autocomplete: "off", maxlength: 64, "aria-describedby": `error-${name}`, on: { input: () => pick(name, input.value.trim(), true) } });
    const fault = el("span", { class: "error", id: `error-${name}` });
    return { name, input, fault, root: el("div", { class: "field" }, el("label", { for: `guide-${name}` }, text), input, fault) };
  });
  const costFault = el("span", { class: "error", id: "error-cost" });

  function answered() {
    state.set("needs", boxes.filter(({ box }) => box.checked).map(({ name }) => name).join(","));
    state.set("kind", "");
    change({ now: true });
  }

  function pick(name, value, typing = false) {
    state.set(name, value);
    state.set("kind", "");
    change({ now: !typing });
  }

  function refuse(faults) {
    error.textContent = faults.needs ? sentence(faults.needs) : "";
    costFault.textContent = faults.cost ?? "";
    for (const { name, input, fault } of texts) {
      fault.textContent = faults[name] ?? "";
      if (faults[name]) input.setAttribute("aria-invalid", "true");
      else input.removeAttribute("aria-invalid");
    }
  }

  return {
    root: el("section", { class: "card w7", "aria-labelledby": "guide-title" },
      el("h2", { id: "guide-title" }, "Which kind?"),
      el("fieldset", { class: "plain" }, el("legend", { class: "sr" }, "Questions"), el("div", { class: "questions" }, boxes.map(({ row }) => row))),
      el("div", { class: "fields" },
        el("div", { class: "field" }, el("label", { for: "guide-cost" }, "What does a false positive cost?"), cost, costFault),
        texts.map(({ root }) => root)),
      error, advice),
    reset() {
      const needs = state.get("needs").split(",");
      for (const { name, box } of boxes) box.checked = needs.includes(name);
      cost.value = costs.some(([value]) => value === state.get("cost")) ? state.get("cost") : "";
      for (const { name, input } of texts) input.value = state.get(name);
    },
    refuse,
    show(answer) {
      refuse({});
      const chosen = answer.kinds.find((kind) => kind.name === answer.take);
      const rest = answer.kinds.filter((kind) => kind.rank > 0 && kind.name !== answer.take).sort((a, b) => a.rank - b.rank);
      advice.replaceChildren(
        el("p", { class: "take" }, "Take: ", el("strong", { id: "take" }, answer.take), chosen?.make ? [" ", el("code", {}, chosen.make)] : ""),
        chosen ? el("p", {}, sentence(chosen.reason), ".") : "",
        rest.length ? el("p", { class: "muted" }, "Or: ", rest.map((kind, i) => [i ? ", " : "", el("span", { title: kind.reason }, kind.name)])) : "",
        answer.warnings.length ? el("ul", { class: "warnings" }, answer.warnings.map((warning) => el("li", { "data-code": warning.code }, warning.text))) : "");
    },
  };
}

const sentence = (text) => text.charAt(0).toUpperCase() + text.slice(1);
