// The same keys in two filters that differ in the hash function only.
import { el, svg } from "./dom.js";
import { percent, whole } from "./format.js";

export function hashes({ stage, ctx, go }) {
  const title = el("h2", { tabindex: -1, id: "scene-title" }, "A good hash and a poor one");
  const choose = {};
  const select = (name, label, values) => {
    choose[name] = el("select", { id: `hash-${name}`, on: { change: changed } }, values.map(([value, text]) => el("option", { value }, text)));
    return el("div", { class: "field" }, el("label", { for: `hash-${name}` }, label), choose[name]);
  };
  const example = el("p", { class: "muted" });
  const sides = el("div", { class: "sides" });
  const problem = el("p", { class: "error", role: "alert" });
  stage.replaceChildren(el("section", { class: "card", "aria-labelledby": "scene-title" }, title,
    el("p", { class: "muted" }, "A filter finds the place of a key by its hash. FNV-1a leaves keys alike that differ in their last letters only: they crowd into a few blocks, which fill up while others stay empty. Each square is a block of 512 bits: the stronger its colour, the fuller it is."),
    el("div", { class: "fields" },
      select("keys", "Keys", [["structured", "alike but for their end"], ["random", "different throughout"]]),
      select("n", "How many", [500, 1000, 2000, 5000, 10000].map((n) => [n, whole(n)])),
      select("p", "False positive rate asked", [["0.05", "5%"], ["0.01", "1%"], ["0.001", "0.1%"]])),
    problem, example, sides));

  function changed() {
    const params = new URLSearchParams({ view: "hashes" });
    for (const [name, field] of Object.entries(choose)) params.set(name, field.value);
    go(params, { replace: true });
  }

  async function show(params) {
    const query = new URLSearchParams();
    for (const [name, field] of Object.entries(choose)) {
      const value = params.get(name) ?? { keys: "structured", n: "1000", p: "0.01" }[name];
      field.value = value;
      query.set(name, value);
    }
    try {
      const result = await ctx.request(`teach/hashes?${query}`);
      problem.textContent = "";
      example.replaceChildren("Keys such as ", el("code", {}, result.example), ".");
      sides.replaceChildren(...result.sides.map((side) => draw(side, result.asked)));
    } catch (error) {
      problem.textContent = error.message;
      sides.replaceChildren();
    }
  }

  return { show };
}

function draw(side, asked) {
  const columns = Math.ceil(Math.sqrt(side.blocks.length * 2));
  const rows = Math.ceil(side.blocks.length / columns);
  const picture = svg("svg", { class: "density", viewBox: `0 0 ${columns} ${rows}`, role: "img", "aria-label": `${side.hash}: ${describe(side.blocks)}` },
    side.blocks.map((fill, i) => svg("rect", { x: i % columns, y: Math.floor(i / columns), width: 1, height: 1, class: `d${Math.min(9, fill > 0 ? 1 + Math.floor(fill * 9) : 0)}` },
      svg("title", {}, `block ${i}: ${percent(fill)} full`))));
  const broken = side.measured.low > asked;
  return el("div", { class: "side", "data-hash": side.hash }, el("h3", {}, side.hash), picture,
    el("dl", { class: "facts" },
      el("dt", {}, "asked"), el("dd", {}, percent(asked)),
      el("dt", {}, "measured"), el("dd", { class: broken ? "over" : "" }, `${percent(side.measured.rate)}, between ${percent(side.measured.low)} and ${percent(side.measured.high)}`),
      el("dt", {}, "absent keys tried"), el("dd", {}, whole(side.measured.tried))),
    el("p", { class: broken ? "said bad" : "said yes" }, side.text));
}

function describe(blocks) {
  const least = Math.min(...blocks);
  const most = Math.max(...blocks);
  return `${whole(blocks.length)} blocks, the emptiest ${percent(least)} full, the fullest ${percent(most)}`;
}
