// The false positive rate over the keys, over k and over the size of the array.
import { el } from "./dom.js";
import { brief, percent, short, whole } from "./format.js";

const charts = [
  { name: "n", title: "As keys are added", about: "Past the capacity the rate rises, and there is no other warning.", x: { format: short }, mark: (v) => `n = ${short(v)}` },
  { name: "k", title: "By the number of hashes k", about: "Too few bits say little about a key, too many fill the array.", x: { format: whole, step: (raw) => Math.max(1, Math.ceil(raw)) }, mark: null },
  { name: "m", title: "By the size m in bits", about: "Each factor of ten in the rate costs about 4.8 bits per key.", x: { format: short }, mark: (v) => `m = ${short(v)}` },
];

export function curves({ ctx }) {
  const boxes = charts.map((spec) => ({ spec, box: el("div"), note: el("p", { class: "small muted note" }) }));
  const root = el("section", { class: "card", "aria-labelledby": "curve-title" },
    el("h2", { id: "curve-title" }, "Curves"),
    el("div", { class: "curves" }, boxes.map(({ spec, box, note }) => el("div", { class: "curve", "data-curve": spec.name },
      el("h3", {}, spec.title), el("p", { class: "small muted" }, spec.about), box, note))),
    el("div", { class: "legend" }, el("span", { class: "c1" }, "standard"), el("span", { class: "c2" }, "bloom (blocked)"), el("span", { class: "limit" }, "rate p")));

  return {
    root,
    show(answer) {
      for (const { spec, box, note } of boxes) {
        const curve = answer.curves[spec.name];
        const drawn = curve.series.map((s) => ({ name: s.name, colour: s.name === "standard" ? 1 : 2, points: points(curve.x, s.y) }));
        const marks = spec.mark ? [{ x: curve.mark, label: spec.mark(curve.mark) }] : best(curve);
        ctx.chart(box, {
          label: `False positive rate, ${spec.title.toLowerCase()}`,
          series: drawn,
          limits: answer.textbook.p < 1 ? [{ value: answer.textbook.p, label: `p = ${percent(answer.textbook.p)}` }] : [],
          marks,
          x: spec.x,
          y: { format: brief, log: true, min: floor(drawn) },
          height: 240,
        });
        note.textContent = spec.mark ? "" : bestText(curve);
      }
    },
  };
}

const points = (x, y) => x.map((v, i) => [v, y[i] ?? NaN]).filter(([, v]) => Number.isFinite(v) && v > 0);

// floor keeps a curve that falls by dozens of powers of ten readable.
function floor(series) {
  const all = series.flatMap((s) => s.points.map(([, y]) => y));
  if (!all.length) return undefined;
  return Math.max(Math.min(...all) / 2, Math.max(...all) * 1e-12);
}

function best(curve) {
  return curve.series.filter((s) => s.best).map((s) => {
    const y = s.y[curve.x.indexOf(s.best)];
    return { x: s.best, y, label: s.name === "standard" ? `best k = ${s.best}` : "", colour: s.name === "standard" ? 1 : 2 };
  });
}

function bestText(curve) {
  return curve.series.filter((s) => s.best).map((s) => `${s.name}: lowest at k = ${s.best}, ${percent(s.y[curve.x.indexOf(s.best)])}`).join("; ");
}
