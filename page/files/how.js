// How it works: lessons, filters to play with, and two experiments. What is shown
// stands in the address, so every scene is a link. The filters run in the server.
import { address, el, style } from "./dom.js";
import { own, playground } from "./how-play.js";
import { hashes } from "./how-hashes.js";
import { saturation } from "./how-saturation.js";

// example is where a teacher begins: words with positions of one's own.
const example = "bits=10&red=1,3,5&blue=4,5,9&green=3,4,5";

const experiments = [
  { view: "hashes", title: "A good hash and a poor one", about: "The same keys in two filters: one hashes well, the other with FNV-1a." },
  { view: "saturation", title: "Until the promise breaks", about: "A filter is filled past its capacity, and its false positive rate is measured." },
];

export async function mount(root, ctx) {
  await style("how.css");
  const stage = el("div", { class: "stage" });
  let list;
  try {
    list = await ctx.request("teach/lessons");
  } catch (error) {
    root.append(el("p", { class: "error", role: "alert" }, error.message));
    return;
  }
  const nav = lessons(list, go);
  const thread = hour(list, go, nav);
  root.append(
    el("p", { class: "lead" }, "A Bloom filter answers “is this key in the set?” from an array of bits. “No” is certain. “Yes” is wrong for a small share of absent keys: false positives."),
    el("div", { class: "how" }, nav.root, el("div", { class: "lesson" }, stage, thread.root)));
  stage.addEventListener("finished", (event) => thread.finish(event.detail));

  // go shows another scene. Links call it, and so does a part that changes the address.
  async function go(params, { replace = false, focus = false } = {}) {
    const url = address(params);
    if (replace) history.replaceState(null, "", url);
    else history.pushState(null, "", url);
    await show();
    if (focus) stage.querySelector("h2")?.focus();
  }

  let leave = null;
  async function show() {
    const params = readWords(new URLSearchParams(location.search));
    if (![...params.keys()].length) params.set("lesson", list.lessons[0].id);
    nav.mark(params);
    thread.mark(params);
    const view = { hashes, saturation }[params.get("view")] ?? playground;
    if (leave?.view !== view) {
      leave?.stop?.();
      leave = { view, ...view({ stage, ctx, list, go }) };
    }
    await leave.show(params);
  }

  addEventListener("popstate", show);
  await show();
}

// readWords takes red=1,3,5 for a word with positions, as word=red:1,3,5 is.
function readWords(given) {
  const params = new URLSearchParams();
  for (const [name, value] of given) {
    if (!own.includes(name) && /^\d+(,\d+)*$/.test(value) && !given.has("view")) params.append("word", `${name}:${value}`);
    else params.append(name, value);
  }
  return params;
}

// hour is the thread through all lessons and experiments: what comes next, what was before, and
// what is done, which this browser remembers.
function hour({ lessons: all }, go, nav) {
  const order = [...all.map((l) => [`lesson=${l.id}`, l.title, l.id]), ...experiments.map((x) => [`view=${x.view}`, x.title, x.view])];
  const done = new Set(read());
  const back = el("button", { type: "button", on: { click: () => step(-1) } });
  const next = el("button", { type: "button", class: "main", on: { click: () => step(1) } });
  const count = el("span", { class: "muted num" });
  const root = el("nav", { class: "row thread", "aria-label": "Through all lessons" }, back, next, count);
  let at = -1;

  function step(by) {
    if (by > 0 && order[at][0].startsWith("view")) finish(order[at][2]);
    go(new URLSearchParams(order[at + by][0]), { focus: true });
  }

  function read() {
    try {
      return JSON.parse(localStorage.getItem("lessons") ?? "[]");
    } catch {
      return [];
    }
  }

  function finish(id) {
    done.add(id);
    try {
      localStorage.setItem("lessons", JSON.stringify([...done]));
    } catch {
      // It is kept for this page only.
    }
    show();
  }

  function show() {
    const n = order.filter(([, , id]) => done.has(id)).length;
    count.textContent = at < 0 ? "" : `lesson ${at + 1} of ${order.length}, ${n} done`;
    nav.done(done);
  }

  return {
    root,
    finish,
    mark(params) {
      at = order.findIndex(([search]) => {
        const [name, id] = search.split("=");
        return params.get(name) === id;
      });
      root.hidden = at < 0;
      back.hidden = at <= 0;
      next.hidden = at < 0 || at >= order.length - 1;
      if (at > 0) back.textContent = `Back: ${order[at - 1][1]}`;
      if (at >= 0 && at < order.length - 1) next.textContent = `Next: ${order[at + 1][1]}`;
      show();
    },
  };
}

// lessons is the list of all scenes.
function lessons({ lessons: all, kinds }, go) {
  const links = [];
  const link = (search, title, about) => {
    const a = el("a", {
      href: address(new URLSearchParams(search)), class: "scene",
      on: {
        click(event) {
          if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
          event.preventDefault();
          go(new URLSearchParams(search), { focus: true });
        },
      },
    }, el("span", { class: "scene-title" }, title), el("span", { class: "scene-about" }, about));
    links.push({ a, search: new URLSearchParams(search) });
    return el("li", {}, a);
  };
  const short = (text) => `${text.split(/(?<=[.:])\s/)[0].replace(/[.:]$/, "")}.`;
  const group = (id, title, items) => [el("h2", { id }, title), el("ul", { "aria-labelledby": id }, items)];
  const wide = matchMedia("(min-width: 72rem)");
  const now = el("span", { class: "muted" });
  const body = el("details", { open: wide.matches }, el("summary", {}, "All scenes ", now),
    group("scenes-paper", "With pencil and paper", [...all.filter((l) => !l.kind).map((l) => link(`lesson=${l.id}`, l.title, short(l.about))),
      link(example, "Your own words", "Words with positions that you type in.")]),
    group("scenes-real", "Real filters", all.filter((l) => l.kind).map((l) => link(`lesson=${l.id}`, l.title, short(l.about)))),
    group("scenes-play", "Play", kinds.map((k) => link(`kind=${k.name}`, k.title, short(k.about)))),
    group("scenes-try", "Experiments", experiments.map((x) => link(`view=${x.view}`, x.title, x.about))));
  wide.addEventListener("change", () => (body.open = wide.matches));
  const root = el("nav", { class: "card scenes", "aria-label": "Scenes" }, body);
  return {
    root,
    mark(params) {
      const current = ["view", "lesson", "kind", "word"].find((name) => params.has(name)) ?? "kind";
      if (!wide.matches) body.open = false;
      for (const { a, search } of links) {
        const is = current === "word" ? search.has("red") : search.get(current) === (params.get(current) ?? "standard");
        if (is) {
          a.setAttribute("aria-current", "page");
          now.textContent = a.querySelector(".scene-title").textContent;
        } else a.removeAttribute("aria-current");
      }
    },
    // done marks the lessons that were seen to their end.
    done(ids) {
      for (const { a, search } of links) {
        const is = ids.has(search.get("lesson") ?? search.get("view"));
        a.classList.toggle("done", is);
        a.title = is ? "done" : "";
      }
    },
  };
}
