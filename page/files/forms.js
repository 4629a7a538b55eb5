// Forms that send to the API. A field is checked before anything is sent; what is
// wrong stands beside the field.
import { refresh } from "./morph.js";

// checks return what is wrong with a value, "" if nothing is.
const checks = {
  name: (v) => (v === "" ? "A name, please." : v.length > 1024 ? "A name has at most 1,024 characters here." : ""),
  number: (v) => (v.trim() === "" ? "A number, please." : ""), // the server reads it, with its unit
  items: (v) => (lines(v).length === 0 ? "At least one item." : lines(v).length > 10_000 ? "At most 10,000 items at a time." : ""),
  same: (v, field) => (v === field.dataset.same ? "" : "This is not its name."),
};

// values return what is sent for a value.
const values = { items: lines };

function lines(text) {
  return text.split("\n").map((l) => l.replace(/\r$/, "")).filter((l) => l !== "");
}

// forms answers the forms of root that have data-api. update shows what has changed.
export function forms(root, ctx, update) {
  root.addEventListener("submit", (event) => {
    const form = event.target.closest("form[data-api]");
    if (!form) return;
    event.preventDefault();
    send(form, ctx, update);
  });
  root.addEventListener("input", (event) => {
    if (event.target.getAttribute("aria-invalid") === "true" && problemOf(event.target) === "") mark(event.target, "");
  });
}

async function send(form, ctx, update) {
  const general = form.querySelector("[data-form-error]");
  const fields = [...form.querySelectorAll("input, select, textarea")];
  general.textContent = "";
  let wrong = null;
  for (const field of fields) {
    const text = problemOf(field);
    mark(field, text);
    if (text) wrong ??= field;
  }
  if (wrong) {
    wrong.focus();
    return;
  }
  const body = {};
  for (const field of fields) if (field.name) body[field.name] = (values[field.dataset.check] ?? String)(field.value);
  const button = form.querySelector("button[type=submit]");
  button.disabled = true;
  try {
    const answer = await ctx.request(form.dataset.api, { method: form.dataset.method, body: form.dataset.method === "DELETE" ? undefined : body });
    await after[form.dataset.then](form, answer, body, ctx, update);
  } catch (error) {
    blame(fields, general, error);
    ctx.announce(error.message);
  } finally {
    button.disabled = false;
  }
}

function problemOf(field) {
  return checks[field.dataset.check]?.(field.value, field) ?? "";
}

function mark(field, text) {
  const beside = document.getElementById(field.getAttribute("aria-describedby"));
  if (beside) beside.textContent = text;
  if (text) field.setAttribute("aria-invalid", "true");
  else field.removeAttribute("aria-invalid");
}

// blame puts the server's error beside the field that it names, else beside the button.
function blame(fields, general, error) {
  const words = { name: /\bname\b|exists/i, capacity: /capacity/i, error_rate: /\berror\b|\brate\b/i, kind: /\bkind\b/i };
  const field = fields.find((f) => error.status === 400 && words[f.name]?.test(error.message));
  const text = error.message.charAt(0).toUpperCase() + error.message.slice(1);
  if (field) {
    mark(field, text);
    field.focus();
  } else general.textContent = text;
}

// after is what happens when the API has answered.
const after = {
  async open(form, answer, body) {
    location.href = `filters?name=${encodeURIComponent(answer.ref)}`;
  },
  async list() {
    location.href = "filters";
  },
  async refresh(form, answer, body, ctx) {
    ctx.announce("Done");
    await refresh();
  },
  async answers(form, answer, body, ctx, update) {
    const box = form.querySelector("[data-answers]");
    const table = document.createElement("table");
    const failed = new Map((answer.errors ?? []).map((e) => [e.index, e.message]));
    answer.results.forEach((yes, i) => {
      if (i >= shown) return;
      const row = table.insertRow();
      const item = row.insertCell();
      item.className = "name";
      item.textContent = body.items[i];
      row.insertCell().textContent = failed.get(i) ?? (yes ? form.dataset.yes : form.dataset.no);
    });
    box.replaceChildren(table);
    if (answer.results.length > shown) box.append(`and ${answer.results.length - shown} more`);
    update(); // nobody waits for it
  },
};

const shown = 100; // answers
