// How it works: lessons, filters to play with, and two experiments. What is shown
// stands in the address, so every scene is a link. The filters run in the server.
import { address, el, style } from "./dom.js";
import { playground } from "./how-play.js";
import { hashes } from "./how-hashes.js";
import { saturation } from "./how-saturation.js";

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
  root.append(
    el("p", { class: "lead" }, "A Bloom filter answers “is this key in the set?” from an array of bits. “No” is certain. “Yes” is wrong for a small share of absent keys: false positives."),
    el("div", { class: "how" }, nav.root, stage));

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
    const params = new URLSearchParams(location.search);
    if (![...params.keys()].length) params.set("lesson", list.lessons[0].id);
    nav.mark(params);
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
    group("scenes-paper", "With pencil and paper", all.filter((l) => !l.kind).map((l) => link(`lesson=${l.id}`, l.title, short(l.about)))),
    group("scenes-real", "Real filters", all.filter((l) => l.kind).map((l) => link(`lesson=${l.id}`, l.title, short(l.about)))),
    group("scenes-play", "Play", kinds.map((k) => link(`kind=${k.name}`, k.title, short(k.about)))),
    group("scenes-try", "Experiments", experiments.map((x) => link(`view=${x.view}`, x.title, x.about))));
  wide.addEventListener("change", () => (body.open = wide.matches));
  const root = el("nav", { class: "card scenes", "aria-label": "Scenes" }, body);
  return {
    root,
    mark(params) {
      const current = ["view", "lesson", "kind"].find((name) => params.has(name)) ?? "kind";
      if (!wide.matches) body.open = false;
      for (const { a, search } of links) {
        const is = search.get(current) === (params.get(current) ?? "standard");
        if (is) {
          a.setAttribute("aria-current", "page");
          now.textContent = a.querySelector(".scene-title").textContent;
        } else a.removeAttribute("aria-current");
      }
    },
  };
}
