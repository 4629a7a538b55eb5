// The array: every cell of every panel after any step. A cell that is pointed at, or
// reached with the arrow keys, shows which keys have set it.
import { el } from "./dom.js";

const few = 64; // cells that are drawn large, with their number

export function board() {
  const root = el("div", { class: "board" });
  const detail = el("p", { class: "detail", id: "cell-detail" });
  const boxes = el("div", { class: "panels" });
  root.append(boxes, detail);
  let scene = null;
  let panels = [];
  let cells = [];
  let values = [];
  let owners = [];

  // build draws the empty array of a scene.
  function build(next) {
    scene = next;
    cells = [];
    const size = scene.panels.reduce((sum, panel) => sum + panel.cells, 0);
    root.classList.toggle("large", size <= few && ["bit", "digit", "fingerprint"].includes(scene.cell));
    root.dataset.cell = scene.cell;
    panels = scene.panels.map((panel, i) => {
      const title = el("h3", { id: `panel-${i}` }, panel.name);
      const grid = el("div", { class: "cells", role: "grid", tabindex: 0, "aria-labelledby": `panel-${i}`, "aria-describedby": "cell-help" });
      // Groups stand apart: a narrow column between them stays empty.
      const groups = Math.ceil(panel.columns / panel.group);
      grid.style.gridTemplateColumns = Array.from({ length: groups }, () => `repeat(${panel.group}, minmax(0, 1fr))`).join(" var(--apart) ");
      for (let from = 0; from < panel.cells; from += panel.columns) {
        const row = el("div", { role: "row" });
        for (let c = from; c < Math.min(from + panel.columns, panel.cells); c++) {
          const cell = el("span", { role: "gridcell", id: `cell-${panel.first + c}`, class: "cell" });
          cell.style.gridColumn = (c % panel.columns) + Math.floor((c % panel.columns) / panel.group) + 1;
          if (root.classList.contains("large")) cell.dataset.number = c;
          cells[panel.first + c] = cell;
          row.append(cell);
        }
        grid.append(row);
      }
      const box = el("div", { class: "panel" }, title, grid);
      box.classList.toggle("narrow", panel.columns <= 16 && !root.classList.contains("large"));
      const item = { panel, title, grid, box, active: 0 };
      listen(item);
      return item;
    });
    boxes.classList.toggle("one", panels.length === 1);
    boxes.replaceChildren(el("p", { class: "sr", id: "cell-help" }, "Arrow keys move from cell to cell."), ...panels.map((p) => p.box));
    detail.textContent = hint();
  }

  const hint = () => `Point at a ${scene.cell}, or move there with the arrow keys, to see which keys have set it.`;

  // paint shows the array after so many steps.
  function paint(at) {
    values = new Array(cells.length).fill(0);
    owners = new Array(cells.length).fill(null);
    let labels = scene.panels.map((panel) => panel.name);
    for (const step of scene.steps.slice(0, at)) {
      for (const [cell, value] of step.changes) values[cell] = value;
      for (const { cell, keys } of step.owners) owners[cell] = keys;
      labels = step.labels ?? labels;
    }
    const step = scene.steps[at - 1];
    const asked = new Set(step?.cells ?? []);
    const changed = new Set((step?.changes ?? []).map(([cell]) => cell));
    for (const [i, { panel, title, box }] of panels.entries()) {
      box.hidden = panel.since > at;
      title.textContent = labels[i];
    }
    for (const [i, cell] of cells.entries()) {
      const value = values[i];
      let name = "cell";
      if (value) name += " set";
      if (asked.has(i)) name += mark(step, value);
      if (changed.has(i)) name += " new";
      if (cell.className !== name) cell.className = name;
      const shown = text(value);
      if (cell.textContent !== shown) cell.textContent = shown;
      cell.setAttribute("aria-label", label(i));
    }
  }

  // mark shows what a cell of the key says: it is set, or it is 0 and so the key is
  // absent. A slot says something only if it has the key's fingerprint.
  function mark(step, value) {
    if (scene.cell === "digit") return " look"; // a sum says something, a digit does not
    if (step.mark) return value === step.mark ? " hit" : " look";
    return value ? " hit" : " miss";
  }

  function text(value) {
    if (scene.cell === "slot") return value ? value.toString(16).padStart(2, "0") : "";
    if (scene.cell === "counter" || scene.cell === "fingerprint") return value ? String(value) : "";
    return root.classList.contains("large") ? String(value) : "";
  }

  // label describes a cell in words.
  function label(i) {
    const { panel } = panels.find(({ panel: p }) => i >= p.first && i < p.first + p.cells);
    const where = `${scene.cell} ${i - panel.first}`;
    if (!values[i]) return scene.cell === "slot" || scene.cell === "fingerprint" ? `${where}: free` : `${where}: 0`;
    const value = scene.cell === "slot" ? text(values[i]) : values[i];
    const keys = owners[i] ?? [];
    if (!keys.length) return `${where}: ${value}`;
    const some = keys.slice(0, 8).map((key) => `“${key}”`).join(", ");
    const more = keys.length > 8 ? ` and ${keys.length - 8} more` : "";
    return `${where}: ${value}, set by ${some}${more}`;
  }

  function listen(item) {
    const { grid, panel } = item;
    const look = (i) => {
      const words = label(i);
      detail.textContent = words.charAt(0).toUpperCase() + words.slice(1);
    };
    const activate = (to) => {
      cells[panel.first + item.active]?.classList.remove("active");
      item.active = Math.min(Math.max(to, 0), panel.cells - 1);
      const cell = cells[panel.first + item.active];
      grid.setAttribute("aria-activedescendant", cell.id);
      cell.classList.add("active");
      look(panel.first + item.active);
    };
    grid.addEventListener("focus", () => activate(item.active));
    grid.addEventListener("blur", () => cells[panel.first + item.active]?.classList.remove("active"));
    grid.addEventListener("keydown", (event) => {
      const row = item.active - (item.active % panel.columns);
      const to = {
        ArrowLeft: item.active - 1, ArrowRight: item.active + 1, ArrowUp: item.active - panel.columns, ArrowDown: item.active + panel.columns,
        Home: event.ctrlKey ? 0 : row, End: event.ctrlKey ? panel.cells - 1 : row + panel.columns - 1,
      }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      if (to >= 0 && to < panel.cells) activate(to);
    });
    const pointed = (event) => {
      const cell = event.target.closest(".cell");
      if (cell) look(Number(cell.id.slice(5)));
    };
    grid.addEventListener("pointerover", pointed);
    grid.addEventListener("pointerdown", pointed);
    grid.addEventListener("pointerleave", () => {
      if (document.activeElement !== grid) detail.textContent = hint();
    });
  }

  return {
    root,
    build,
    paint,
    size: (at) => panels.reduce((sum, { panel }) => sum + (panel.since <= at ? panel.cells : 0), 0),
  };
}
