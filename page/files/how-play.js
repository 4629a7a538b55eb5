// A filter to play with: the array, the steps, and what to do next.
import { el } from "./dom.js";
import { percent, whole } from "./format.js";
import { board } from "./how-board.js";

const verbs = { add: "Insert", ask: "Ask for", delete: "Delete", report: "Report", fill: "Add keys", advance: "Time moves on" };
const pace = 1400; // ms between two steps
export const own = ["lesson", "kind", "bits", "hashes", "word", "do", "step"];
const nouns = { digit: "places", fingerprint: "fingerprint" };

export function playground({ stage, ctx, list, go }) {
  let params = new URLSearchParams();
  let scene = null;
  let at = 0; // steps that have been done
  let timer = 0;

  const title = el("h2", { tabindex: -1 });
  const about = el("p", { class: "muted" });
  const setup = el("div", { class: "setup" });
  const words = el("div", { class: "words" });
  const cells = board();
  const figures = el("p", { class: "figures num" });
  const text = el("p", { class: "said", role: "status", "aria-live": "polite" });
  const guess = el("div", { class: "row guess" });
  let guessed = null; // what a person has said that the filter will answer
  const buttons = {
    first: button("First step", "First", () => move(0)),
    back: button("Step back", "Back", () => move(at - 1)),
    play: button("Play", "Play", play, "main"),
    next: button("Next step", "Next", () => move(at + 1)),
    last: button("Last step", "Last", () => move(scene.steps.length)),
  };
  const stepper = el("div", { class: "row stepper", role: "group", "aria-label": "Steps" }, Object.values(buttons));
  const counter = el("span", { class: "muted num" });
  stepper.append(counter);
  const log = el("ol", { class: "log", "aria-label": "All steps" });
  const tools = controls({ act, find, restart });
  const problem = el("p", { class: "error", role: "alert" });
  const missing = el("p", { class: "error", role: "alert" });
  const parts = [
    el("section", { class: "card", "aria-labelledby": "scene-title" }, title, about, setup, words, stepper, text, guess, cells.root, figures),
    el("section", { class: "card" }, el("h2", {}, "Try it"), tools.root, problem),
    el("section", { class: "card" }, el("h2", {}, "Steps"), log),
  ];
  stage.replaceChildren(missing, ...parts);
  title.id = "scene-title";

  const same = (other) => own.filter((name) => name !== "step").every((name) => String(params.getAll(name)) === String(other.getAll(name)));

  // show plays the scene of an address.
  async function show(given) {
    pause();
    const wanted = new URLSearchParams([...given].filter(([name]) => own.includes(name)));
    if (!scene || !same(wanted)) {
      const query = new URLSearchParams([...wanted].filter(([name]) => name !== "step"));
      try {
        scene = await ctx.request(`teach?${query}`);
      } catch (error) {
        for (const part of parts) part.hidden = !scene;
        (scene ? problem : missing).textContent = error.message;
        return;
      }
      for (const part of parts) part.hidden = false;
      problem.textContent = missing.textContent = "";
      params = wanted;
      build();
    }
    params = wanted;
    const step = Number.parseInt(wanted.get("step") ?? "", 10);
    at = Number.isInteger(step) ? Math.min(Math.max(step, 0), scene.steps.length) : scene.lesson && !wanted.has("do") ? 0 : scene.steps.length;
    guessed = null;
    paint();
  }

  // build is for a new scene, paint for another step of it.
  function build() {
    title.textContent = scene.title;
    about.textContent = scene.about;
    setup.replaceChildren(...(scene.lesson ? [] : scene.kind === "given" ? [positions(scene, go)] : settings(scene, list, params, go)));
    words.replaceChildren(...(scene.words.length ? [wordTable(scene)] : []));
    cells.build(scene);
    tools.build(scene);
    log.replaceChildren(...scene.steps.map((step, i) => el("li", {},
      el("button", { type: "button", class: "step", on: { click: () => move(i + 1) } },
        el("span", { class: "step-do" }, name(step)), el("span", { class: `chip ${kind(step.verdict)}` }, step.verdict)))));
    if (!scene.steps.length) log.append(el("li", { class: "muted" }, "Nothing has been done yet. Insert a key."));
  }

  function paint() {
    const step = scene.steps[at - 1];
    cells.paint(at);
    text.className = `said ${step ? kind(step.verdict) : ""}`;
    text.replaceChildren(verdictOn(step), step ? el("strong", {}, `${name(step)}: ${step.verdict}. `) : "", step ? step.text : "The array is empty: all cells are 0.");
    ask();
    figures.replaceChildren(...numbers(step));
    counter.textContent = `step ${at} of ${scene.steps.length}`;
    for (const [i, item] of [...log.querySelectorAll("button")].entries()) {
      if (i === at - 1) item.setAttribute("aria-current", "step");
      else item.removeAttribute("aria-current");
      item.querySelector(".chip").hidden = Boolean(scene.lesson) && i >= at; // it would tell the answer
    }
    for (const b of [buttons.first, buttons.back]) b.disabled = at === 0;
    for (const b of [buttons.next, buttons.last]) b.disabled = at >= scene.steps.length;
    buttons.play.disabled = !scene.steps.length;
    stage.dataset.step = at;
    stage.dataset.scene = scene.lesson ?? scene.kind;
    if (scene.lesson && at >= scene.steps.length) stage.dispatchEvent(new CustomEvent("finished", { detail: scene.lesson }));
  }

  // ask has a person say what a lesson will answer next, before it does.
  function ask() {
    const next = scene.lesson ? scene.steps[at] : null;
    guess.hidden = next?.do !== "ask";
    if (guess.hidden) return;
    const say = (yes) => () => {
      guessed = yes;
      move(at + 1);
    };
    guess.replaceChildren(el("span", {}, `Next, the filter is asked for “${next.key}”. What will it answer?`),
      el("button", { type: "button", on: { click: say(true) } }, "Yes"), el("button", { type: "button", on: { click: say(false) } }, "No"));
  }

  // verdictOn says whether a person has answered right.
  function verdictOn(step) {
    const right = guessed === (step?.verdict === "present" || step?.verdict === "false positive");
    const words = guessed === null ? "" : right ? "You were right. " : "It answers otherwise. ";
    guessed = null;
    return words;
  }

  function numbers(step) {
    const set = step?.set ?? 0;
    const all = cells.size(at);
    const list = [
      ["keys", whole(step?.keys ?? 0)],
      [`${scene.cell}s in use`, `${whole(set)} of ${whole(all)} (${percent(all ? set / all : 0)})`],
      ["false positive rate now", percent(step?.predicted ?? 0)],
    ];
    if (scene.actions.includes("report")) list.push(["reports", step?.reports?.join(", ") ?? "none"]);
    return list.flatMap(([term, value], i) => [i ? " · " : "", `${term}: `, el("strong", { "data-figure": term }, value)]);
  }

  // move shows another step; the address follows without a new entry in the history.
  function move(to, playing = false) {
    if (!playing) pause();
    at = Math.min(Math.max(to, 0), scene.steps.length);
    params.set("step", at);
    history.replaceState(null, "", `${location.pathname}?${params}`);
    paint();
  }

  function play() {
    if (timer) return pause();
    if (at >= scene.steps.length) move(0, true);
    buttons.play.textContent = "Pause";
    buttons.play.setAttribute("aria-label", "Pause");
    timer = setInterval(() => {
      move(at + 1, true);
      if (at >= scene.steps.length) pause();
    }, pace);
  }

  function pause() {
    clearInterval(timer);
    timer = 0;
    buttons.play.textContent = "Play";
    buttons.play.setAttribute("aria-label", "Play");
  }

  // act appends an action and shows its outcome.
  async function act(action) {
    const next = new URLSearchParams([...params].filter(([key]) => key !== "step" && key !== "do"));
    if (!named(next)) next.set("kind", "standard");
    for (const step of scene.steps) next.append("do", written(step));
    next.append("do", action);
    if (next.getAll("do").length > list.limits.actions) {
      problem.textContent = `A scene has at most ${list.limits.actions} steps. Start again.`;
      return;
    }
    problem.textContent = "";
    const before = scene;
    await go(next);
    if (scene === before) history.back(); // it was refused, and the message stands
  }

  async function find() {
    const query = new URLSearchParams([...params].filter(([key]) => key !== "step" && key !== "do"));
    if (!named(query)) query.set("kind", "standard");
    for (const step of scene.steps) query.append("do", written(step));
    try {
      const found = await ctx.request(`teach/find?${query}`);
      tools.say(found.text);
      problem.textContent = "";
      if (found.key) await act(`ask:${found.key}`);
    } catch (error) {
      problem.textContent = error.message;
    }
  }

  function restart() {
    const next = new URLSearchParams([...params].filter(([key]) => key !== "step" && key !== "do"));
    next.set("step", 0);
    tools.say("");
    go(next, { focus: true });
  }

  return { show, stop: pause };
}

// named reports whether an address says which filter it is about.
const named = (params) => ["lesson", "kind", "word"].some((name) => params.has(name));

const written = (step) => (step.do === "fill" ? `fill:${step.n}` : step.do === "advance" ? "advance" : `${step.do}:${step.key}`);

const name = (step) => {
  if (step.do === "fill") return `Add ${step.n} keys`;
  return step.key ? `${verbs[step.do]} “${step.key}”` : verbs[step.do];
};

// kind is how a verdict is coloured; the words carry the meaning.
function kind(verdict) {
  if (verdict === "false positive" || verdict === "false negative" || verdict === "full") return "bad";
  if (verdict === "certainly absent" || verdict === "not there") return "no";
  if (verdict === "present") return "yes";
  return "";
}

function button(label, text, click, more = "") {
  return el("button", { type: "button", class: more, "aria-label": label, title: label, on: { click } }, text);
}

// settings are the kind, the size and the hashes of a filter to play with.
function settings(scene, { kinds }, params, go) {
  const kind = kinds.find((k) => k.name === scene.kind);
  const change = (name, value) => {
    const next = new URLSearchParams([...params].filter(([key]) => key !== "step"));
    if (name === "kind") for (const key of ["bits", "hashes", "do"]) next.delete(key);
    next.set("kind", scene.kind);
    next.set(name, value);
    go(next);
  };
  const choice = (name, label, values, now) => el("div", { class: "field" }, el("label", { for: `how-${name}` }, label),
    el("select", { id: `how-${name}`, on: { change: (event) => change(name, event.target.value) } }, values.map(([value, text]) => el("option", { value, selected: String(value) === String(now) }, text))));
  const range = Array.from({ length: kind.max_hashes - kind.min_hashes + 1 }, (_, i) => [i + kind.min_hashes, String(i + kind.min_hashes)]);
  return [el("div", { class: "fields" },
    choice("kind", "Kind", kinds.map((k) => [k.name, k.title]), scene.kind),
    kind.sizes.length > 1 ? choice("bits", `${scene.cell.charAt(0).toUpperCase() + scene.cell.slice(1)}s`, kind.sizes.map((n) => [n, whole(n)]), scene.bits) : "",
    kind.max_hashes > 0 ? choice("hashes", "Hashes k", range, scene.hashes) : "")];
}

// positions is where a teacher types words in, a line each.
function positions(scene, go) {
  const bits = el("input", { id: "own-bits", type: "number", min: 2, max: 64, value: scene.bits });
  const words = el("textarea", { id: "own-words", rows: Math.max(4, scene.words.length + 1), spellcheck: "false" },
    scene.words.map((w) => `${w.key}: ${w.cells.join(", ")}`).join("\n"));
  const use = (event) => {
    event.preventDefault();
    const next = new URLSearchParams({ bits: bits.value });
    for (const line of words.value.split("\n").map((l) => l.trim()).filter(Boolean)) {
      const [, word, list] = line.match(/^(.*?)[:\s]+([\d,\s]+)$/) ?? [null, line, ""];
      next.append("word", `${word}:${list.trim().split(/[,\s]+/).join(",")}`);
    }
    go(next);
  };
  return el("form", { class: "own-words", novalidate: true, on: { submit: use } },
    el("div", { class: "field" }, el("label", { for: "own-bits" }, "Bits"), bits),
    el("div", { class: "field" }, el("label", { for: "own-words" }, "Words and their positions, a line each"), words),
    el("button", { type: "submit" }, "Use them"));
}

// wordTable has the given positions of a lesson.
function wordTable(scene) {
  return el("table", { class: "given" }, el("caption", { class: "sr" }, "Positions of the words"),
    el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "word"), el("th", { scope: "col" }, nouns[scene.cell] ?? "bits"), scene.words.some((w) => w.why) ? el("th", { scope: "col" }, "because") : "")),
    el("tbody", {}, scene.words.map((w) => el("tr", {}, el("th", { scope: "row" }, w.key), el("td", { class: "num nowrap" }, w.cells.join(", ")), w.why ? el("td", { class: "muted" }, w.why) : ""))));
}

// controls are what a person does with the filter.
function controls({ act, find, restart }) {
  const input = el("input", { id: "how-key", autocomplete: "off", spellcheck: "false", maxlength: 48, list: "how-words", "aria-describedby": "how-key-error" });
  const words = el("datalist", { id: "how-words" });
  const error = el("span", { class: "error", id: "how-key-error", role: "alert" });
  const said = el("p", { class: "small", role: "status" });
  const row = el("div", { class: "row" });
  const form = el("form", { novalidate: true, on: { submit: (event) => (event.preventDefault(), run("add")) } },
    el("div", { class: "field key" }, el("label", { for: "how-key" }, "Key"), input, words, error), row);

  function run(action) {
    const key = input.value.trim();
    const fault = !key ? "Type a key first." : new TextEncoder().encode(key).length > 48 ? "A key here has at most 48 bytes." : "";
    error.textContent = fault;
    if (fault) {
      input.setAttribute("aria-invalid", "true");
      input.focus();
      return;
    }
    input.removeAttribute("aria-invalid");
    said.textContent = "";
    act(`${action}:${key}`);
  }

  const plain = (text, click, more) => el("button", { type: "button", class: more, on: { click } }, text);
  return {
    root: el("div", {}, form, said),
    say: (text) => (said.textContent = text),
    build(scene) {
      const can = new Set(scene.actions);
      words.replaceChildren(...scene.words.map((w) => el("option", { value: w.key })));
      row.replaceChildren(
        el("button", { type: "submit", class: "main" }, "Insert"), plain("Ask", () => run("ask")),
        ...(can.has("delete") ? [plain("Delete", () => run("delete"))] : []),
        ...(can.has("report") ? [plain("Report", () => run("report"))] : []),
        ...(can.has("fill") ? [plain("Add 10 keys", () => act("fill:10")), plain("Add 50 keys", () => act("fill:50"))] : []),
        ...(can.has("advance") ? [plain("Time moves on", () => act("advance"))] : []),
        ...(scene.words.length && (nouns[scene.cell] || !scene.words.some((w) => w.why)) ? [] : [plain("Find a false positive", find)]),
        plain("Start again", restart));
    },
  };
}
