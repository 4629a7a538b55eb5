// Tab 1. The server renders it; this adds the curve of the throughput and keeps all of
// it fresh.
import { short, time, timeSeconds, timeStep } from "./format.js";
import { refresh } from "./morph.js";
import { paced } from "./paced.js";

const kept = 300; // points of the curve

export async function mount(root, ctx) {
  const points = remembered();
  const show = () => {
    const box = document.getElementById("throughput");
    const ops = document.getElementById("ops");
    if (!box || !ops) return;
    const now = Math.round(Date.now() / 1000);
    if (points.at(-1)?.[0] === now) points.pop();
    points.push([now, Number(ops.dataset.value)]);
    points.splice(0, points.length - kept);
    remember(points);
    ctx.chart(box, {
      label: "Commands a second",
      height: 180,
      series: [{ name: "commands a second", points, colour: 1, area: true }],
      x: { format: now - points[0][0] > 300 ? time : timeSeconds, step: timeStep, min: Math.min(points[0][0], now - 60) },
      y: { format: short, min: 0 },
    });
  };
  show();
  ctx.live(paced(async () => {
    if (await refresh()) show();
  }, 1000));
}

// The curve outlives a look at another tab, not the tab of the browser. What is older
// than 10 minutes is not shown again.
function remembered() {
  try {
    const list = JSON.parse(sessionStorage.getItem("throughput") ?? "[]");
    return list.filter(([at]) => at > Date.now() / 1000 - 600);
  } catch {
    return [];
  }
}

function remember(points) {
  try {
    sessionStorage.setItem("throughput", JSON.stringify(points));
  } catch {
    // Then the curve begins anew.
  }
}
