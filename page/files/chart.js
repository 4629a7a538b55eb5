// Line charts as SVG. Colours come from the style sheet, so a chart follows the theme;
// its description is read out.
//
//   chart(box, {
//     label: "Items over time",
//     series: [{ name: "items", points: [[x, y], …], colour: 1, area: true, dash: false }],
//     limits: [{ value: 1000, label: "capacity" }],  a line across
//     marks: [{ x: 7, y: 0.01, label: "best" }],     a point, or without y a line upright
//     x: { format, log, min, max }, y: { format, log, min, max },
//     height: 200,
//   })
const space = { top: 12, right: 14, bottom: 24, left: 56 };
const svgName = "http://www.w3.org/2000/svg";
const drawn = new WeakMap();

export function chart(box, spec) {
  if (!drawn.has(box)) {
    box.classList.add("chart");
    const watch = new ResizeObserver(() => draw(box, drawn.get(box)));
    watch.observe(box);
  }
  drawn.set(box, spec);
  draw(box, spec);
}

function draw(box, spec) {
  const width = Math.max(box.clientWidth, 120);
  const height = spec.height ?? 200;
  const x = scale(spec.x, extent(spec, 0), space.left, width - space.right);
  const rows = Math.max(Math.floor(height / 45), 2);
  const y = scale(spec.y, whole(spec.y, extent(spec, 1), rows), height - space.bottom, space.top);
  const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": describe(spec) });
  for (const v of ticks(y, rows)) {
    svg.append(make("line", { class: "grid-line", x1: space.left, x2: width - space.right, y1: y.at(v), y2: y.at(v) }));
    svg.append(make("text", { x: space.left - 8, y: y.at(v) + 4, "text-anchor": "end" }, y.format(v)));
  }
  for (const v of ticks(x, Math.max(Math.floor(width / 110), 2))) {
    const last = x.at(v) > width - space.right - 20;
    svg.append(make("text", { x: last ? width - space.right : x.at(v), y: height - 6, "text-anchor": last ? "end" : "middle" }, x.format(v)));
  }
  svg.append(make("line", { class: "axis", x1: space.left, x2: width - space.right, y1: height - space.bottom, y2: height - space.bottom }));
  for (const s of spec.series) line(svg, s, x, y, height - space.bottom);
  for (const limit of spec.limits ?? []) {
    if (limit.value < y.min || limit.value > y.max) continue;
    const at = y.at(limit.value);
    svg.append(make("line", { class: "limit line", x1: space.left, x2: width - space.right, y1: at, y2: at }));
    svg.append(make("text", { x: space.left + 4, y: at - 4 }, limit.label));
  }
  for (const mark of spec.marks ?? []) drawMark(svg, mark, x, y, width, height - space.bottom);
  const cursor = make("line", { class: "cursor", y1: space.top, y2: height - space.bottom, visibility: "hidden" });
  svg.append(cursor);
  const readout = document.createElement("div");
  readout.className = "readout";
  readout.setAttribute("aria-hidden", "true");
  svg.addEventListener("pointermove", (event) => point(event, svg, spec, x, y, cursor, readout));
  svg.addEventListener("pointerleave", () => {
    cursor.setAttribute("visibility", "hidden");
    readout.textContent = "";
  });
  box.replaceChildren(svg, readout);
}

function line(svg, s, x, y, base) {
  const points = s.points.filter(([a, b]) => Number.isFinite(a) && Number.isFinite(b) && (!y.log || b > 0) && (!x.log || a > 0));
  if (points.length === 0) return;
  const path = points.map(([a, b], i) => `${i ? "L" : "M"}${x.at(a).toFixed(1)} ${y.at(b).toFixed(1)}`).join("");
  const colour = `c${s.colour ?? 1}`;
  if (s.area) {
    const [first, last] = [x.at(points[0][0]), x.at(points.at(-1)[0])];
    svg.append(make("path", { class: `area ${colour}`, d: `${path}L${last.toFixed(1)} ${base}L${first.toFixed(1)} ${base}Z` }));
  }
  svg.append(make("path", { class: `line ${colour}${s.dash ? " dash" : ""}`, d: path }));
}

// drawMark marks a point with a ring, or a value of x with a line. Its label stands on
// the side where there is room.
function drawMark(svg, mark, x, y, width, base) {
  if (!Number.isFinite(mark.x) || mark.x < x.min || mark.x > x.max) return;
  const at = x.at(mark.x);
  const left = at > width * 0.7;
  const colour = `c${mark.colour ?? 1}`;
  if (Number.isFinite(mark.y)) svg.append(make("circle", { class: `mark ${colour}`, cx: at, cy: y.at(mark.y), r: 5 }));
  else svg.append(make("line", { class: "cursor", x1: at, x2: at, y1: space.top, y2: base }));
  const height = Number.isFinite(mark.y) ? Math.min(y.at(mark.y) + 18, base - 4) : space.top + 10;
  svg.append(make("text", { x: left ? at - 8 : at + 8, y: height, "text-anchor": left ? "end" : "start" }, mark.label));
}

// point shows the values nearest to the pointer.
function point(event, svg, spec, x, y, cursor, readout) {
  const frame = svg.getBoundingClientRect();
  const px = ((event.clientX - frame.left) / frame.width) * svg.viewBox.baseVal.width;
  const near = (s) => s.points.reduce((best, p) => (best && Math.abs(x.at(best[0]) - px) <= Math.abs(x.at(p[0]) - px) ? best : p), null);
  const hits = spec.series.map((s) => [s, near(s)]).filter(([, p]) => p);
  if (hits.length === 0) return;
  const at = hits[0][1][0];
  cursor.setAttribute("x1", x.at(at));
  cursor.setAttribute("x2", x.at(at));
  cursor.setAttribute("visibility", "visible");
  readout.textContent = `${x.format(at)}: ${hits.map(([s, p]) => `${s.name} ${y.format(p[1])}`).join(", ")}`;
}

function extent(spec, i) {
  const axis = i === 0 ? spec.x : spec.y;
  let [low, high] = [Infinity, -Infinity];
  for (const s of spec.series) {
    for (const p of s.points) {
      if (!Number.isFinite(p[i]) || (axis?.log && p[i] <= 0)) continue;
      low = Math.min(low, p[i]);
      high = Math.max(high, p[i]);
    }
  }
  if (i === 1) for (const l of spec.limits ?? []) if (l.always) high = Math.max(high, l.value);
  low = axis?.min ?? low;
  high = axis?.max ?? high;
  if (!Number.isFinite(low) || !Number.isFinite(high)) return axis?.log ? [0.001, 1] : [0, 1];
  if (low === high) return axis?.log ? [low / 2, high * 2] : [Math.min(low, 0), high > 0 ? high * 1.2 : 1];
  return [low, high];
}

function scale(axis = {}, [min, max], from, to) {
  const f = axis.log ? Math.log10 : (v) => v;
  const [a, b] = [f(min), f(max)];
  return {
    min,
    max,
    log: Boolean(axis.log),
    step: axis.step,
    format: axis.format ?? String,
    at: (v) => from + ((f(Math.min(Math.max(v, min), max)) - a) / (b - a || 1)) * (to - from),
  };
}

// whole ends an axis at a tick, so that no curve ends above the last one.
function whole(axis = {}, [min, max], n) {
  if (axis.log || axis.max !== undefined) return [min, max];
  const step = roundStep((max - min) / n, axis.step);
  return [min, Math.ceil(max / step - 1e-9) * step];
}

// roundStep returns a round number that is at least raw.
function roundStep(raw, chosen) {
  const power = 10 ** Math.floor(Math.log10(raw));
  return chosen?.(raw) ?? [1, 2, 5, 10].map((m) => m * power).find((s) => s >= raw);
}

// ticks returns about n round values.
function ticks(axis, n) {
  if (axis.log) {
    const [a, b] = [Math.ceil(Math.log10(axis.min) - 1e-9), Math.floor(Math.log10(axis.max) + 1e-9)];
    const every = Math.max(1, Math.ceil((b - a + 1) / n));
    const list = [];
    for (let e = a; e <= b; e += every) list.push(10 ** e);
    return list.length ? list : [axis.min, axis.max];
  }
  const step = roundStep((axis.max - axis.min) / n, axis.step);
  const list = [];
  for (let v = Math.ceil(axis.min / step) * step; v <= axis.max + step * 1e-9; v += step) list.push(Number(v.toPrecision(12)));
  return list;
}

function describe(spec) {
  const parts = spec.series.map((s) => {
    const last = s.points.at(-1);
    return last ? `${s.name}: ${(spec.y?.format ?? String)(last[1])} at the end` : `${s.name}: no values yet`;
  });
  return `${spec.label}. ${parts.join("; ")}.`;
}

function make(name, attributes, text) {
  const element = document.createElementNS(svgName, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}
