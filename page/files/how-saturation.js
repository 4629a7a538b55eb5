// A filter that is filled to four times its capacity.
import { el, svg } from "./dom.js";
import { percent, short, whole } from "./format.js";

const pace = 250; // ms between two points

export function saturation({ stage, ctx, go }) {
  let growth = null;
  let timer = 0;
  const title = el("h2", { tabindex: -1, id: "scene-title" }, "Until the promise breaks");
  const choose = {};
  const select = (name, label, values) => {
    choose[name] = el("select", { id: `grow-${name}`, on: { change: changed } }, values.map(([value, text]) => el("option", { value }, text)));
    return el("div", { class: "field" }, el("label", { for: `grow-${name}` }, label), choose[name]);
  };
  const slider = el("input", { type: "range", id: "grow-at", min: 0, step: 1, value: 0, on: { input: () => (stop(), paint()) } });
  const play = el("button", { type: "button", class: "main", on: { click: run } }, "Fill it");
  const text = el("p", { class: "said", role: "status" });
  const bar = svg("rect", { width: 0, height: 8 });
  const box = el("div");
  const problem = el("p", { class: "error", role: "alert" });
  const closing = el("p", { class: "muted" });
  stage.replaceChildren(el("section", { class: "card", "aria-labelledby": "scene-title" }, title,
    el("p", { class: "muted" }, "A filter keeps its false positive rate up to its capacity. Past it the array goes on filling, no call fails, and the rate rises: the fill and the rate in Stats show it."),
    el("div", { class: "fields" },
      select("kind", "Kind", [["standard", "Standard"], ["blocked", "Blocked"]]),
      select("n", "Capacity", [100, 1000, 5000, 10000].map((n) => [n, whole(n)])),
      select("p", "False positive rate asked", [["0.1", "10%"], ["0.01", "1%"], ["0.001", "0.1%"]])),
    problem,
    el("div", { class: "row slide" }, play, el("label", { for: "grow-at" }, "Keys"), slider),
    svg("svg", { class: "fillbar", viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" }, bar),
    text, box,
    el("div", { class: "legend" }, el("span", { class: "c1" }, "predicted"), el("span", { class: "c2" }, "measured with absent keys"), el("span", { class: "limit" }, "asked")),
    closing));

  function changed() {
    const params = new URLSearchParams({ view: "saturation" });
    for (const [name, field] of Object.entries(choose)) params.set(name, field.value);
    go(params, { replace: true });
  }

  async function show(params) {
    stop();
    const query = new URLSearchParams();
    for (const [name, field] of Object.entries(choose)) {
      const value = params.get(name) ?? { kind: "standard", n: "1000", p: "0.01" }[name];
      field.value = value;
      query.set(name, value);
    }
    try {
      growth = await ctx.request(`teach/saturation?${query}`);
      problem.textContent = "";
    } catch (error) {
      growth = null;
      problem.textContent = error.message;
      return;
    }
    slider.max = growth.points.length - 1;
    slider.value = 0; // empty, to be filled
    closing.textContent = growth.text;
    paint();
  }

  function paint() {
    const at = Number(slider.value);
    const point = growth.points[at];
    const times = point.keys / growth.capacity;
    const kept = point.keys <= growth.capacity || point.predicted <= growth.asked;
    slider.setAttribute("aria-valuetext", `${whole(point.keys)} keys, ${percent(point.fill)} full, rate ${percent(point.predicted)}`);
    text.className = `said ${kept ? "yes" : "bad"}`;
    text.replaceChildren(el("strong", {}, kept ? "The promise is kept. " : "The promise is broken. "),
      `${whole(point.keys)} keys, ${Number(times.toFixed(2))} times the capacity: ${percent(point.fill)} of the bits are set. Predicted rate ${percent(point.predicted)}, measured ${percent(point.measured.rate)}, asked ${percent(growth.asked)}.`);
    bar.setAttribute("width", (100 * point.fill).toFixed(1));
    const upTo = growth.points.slice(0, at + 1);
    const least = growth.asked / 100;
    ctx.chart(box, {
      label: "False positive rate as keys are added",
      series: [
        { name: "predicted", colour: 1, points: upTo.filter((p) => p.predicted >= least).map((p) => [p.keys, p.predicted]) },
        { name: "measured", colour: 2, dash: true, points: upTo.filter((p) => p.measured.rate >= least).map((p) => [p.keys, p.measured.rate]) },
      ],
      limits: [{ value: growth.asked, label: `asked: ${percent(growth.asked)}`, always: true }],
      marks: [{ x: growth.capacity, label: "capacity" }],
      x: { format: short, min: 0, max: growth.points.at(-1).keys },
      y: { format: percent, log: true, min: least, max: 1 },
      height: 280,
    });
  }

  function run() {
    if (timer) return stop();
    if (!growth) return;
    if (Number(slider.value) >= Number(slider.max)) slider.value = 0;
    play.textContent = "Pause";
    timer = setInterval(() => {
      slider.value = Number(slider.value) + 1;
      paint();
      if (Number(slider.value) >= Number(slider.max)) stop();
    }, pace);
  }

  function stop() {
    clearInterval(timer);
    timer = 0;
    play.textContent = "Fill it";
  }

  return { show, stop };
}
