// Tab 2. The server renders the table and the page of a filter; this keeps them fresh,
// searches while one types, draws the curve of the fill, and sends forms to the API.
import { date, short, time, timeStep } from "./format.js";
import { forms } from "./forms.js";
import { refresh } from "./morph.js";
import { paced } from "./paced.js";

export async function mount(root, ctx) {
  const update = async () => {
    if (await refresh()) drawFill(ctx);
  };
  // follow shows what the address asks for, in the search field too.
  const follow = async () => {
    const field = document.getElementById("q");
    if (field) field.value = new URLSearchParams(location.search).get("q") ?? "";
    await update();
  };
  const go = async (url) => {
    history.pushState(null, "", url);
    await follow();
    const shown = root.querySelector("caption");
    if (shown) ctx.announce(shown.textContent);
  };
  root.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-nav]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    go(link.href);
  });
  root.addEventListener("submit", (event) => {
    if (event.target.id !== "search") return;
    event.preventDefault();
    go(address(event.target));
  });
  let timer = 0;
  root.addEventListener("input", (event) => {
    if (event.target.id !== "q") return;
    clearTimeout(timer);
    timer = setTimeout(() => {
      history.replaceState(null, "", address(event.target.form));
      update();
    }, 200);
  });
  root.addEventListener("change", (event) => {
    if (event.target.id === "per") go(address(event.target.form));
  });
  addEventListener("popstate", follow);
  forms(root, ctx, update);
  drawFill(ctx);
  ctx.live(paced(update, 1000));
}

// address returns where a form leads.
function address(form) {
  const query = new URLSearchParams(new FormData(form));
  for (const [name, value] of [...query]) if (!value) query.delete(name);
  return `filters${query.size ? "?" : ""}${query}`;
}

// drawFill draws the items over time, and on to the day on which the filter is full.
function drawFill(ctx) {
  const box = document.getElementById("fill");
  if (!box) return;
  const points = (JSON.parse(box.dataset.history || "null") ?? []).map((p) => [p.at, p.items]);
  const now = Date.now() / 1000;
  points.push([now, Number(box.dataset.items)]);
  const capacity = Number(box.dataset.capacity);
  const series = [{ name: "items", points, colour: 1, area: true }];
  const pace = Number(box.dataset.pace);
  const from = points[0][0];
  const past = Math.max(now - from, 3600);
  if (pace > 0 && points.at(-1)[1] < capacity) {
    const full = now + (capacity - points.at(-1)[1]) / pace;
    // The future takes at most two thirds of the picture.
    const end = Math.min(full, now + 2 * past);
    series.push({ name: "at the present pace", points: [points.at(-1), [end, points.at(-1)[1] + pace * (end - now)]], colour: 2, dash: true });
  }
  const highest = Math.max(...series.flatMap((s) => s.points.map((p) => p[1])));
  ctx.chart(box, {
    label: "Items over time",
    height: 220,
    series,
    limits: capacity > 0 ? [{ value: capacity, label: `capacity ${short(capacity)}`, always: highest > capacity / 4 }] : [],
    x: { format: past > 86400 ? date : time, step: timeStep, min: Math.min(from, now - 3600) },
    y: { format: short, min: 0 },
  });
}
