// The frame: theme, token, live state, and the module of the tab that is shown.
//
// Every tab is a module that exports mount(root, ctx): root is the element that it
// fills, ctx has what tabs share:
//
//   ctx.request(path, options)  JSON of the API, see request.js
//   ctx.admin                   the server allows changes from here
//   ctx.server                  there is a server, and not the page alone
//   ctx.announce(text)          has a screen reader say something
//   ctx.chart(box, spec)        draws a chart, see chart.js
//   ctx.live(update)            calls update() whenever the server has news
import { chart } from "./chart.js";
import { listen } from "./events.js";
import { refresh } from "./morph.js";
import { request, setToken, token } from "./request.js";

const body = document.body;
const view = document.getElementById("view");
const state = document.getElementById("state");
const server = body.dataset.server === "true";
// Tabs that the server renders with data.
const rendered = server && (body.dataset.tab === "overview" || body.dataset.tab === "filters");

const ctx = {
  request,
  admin: body.dataset.admin === "true",
  server,
  chart,
  announce(text) {
    document.getElementById("announcer").textContent = text;
  },
  live(update) {
    if (server) listen(update, showState);
  },
};

const words = { live: "Live", lost: "Connection lost", off: "Not live" };

function showState(now) {
  state.dataset.state = now;
  state.querySelector(".word").textContent = words[now];
}

// The switch goes from the theme that is shown to the other one.
function switchTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  try {
    localStorage.setItem("theme", root.dataset.theme);
  } catch {
    // It is kept for this page only.
  }
  ctx.announce(`${dark ? "Light" : "Dark"} theme`);
}

function openToken() {
  const dialog = document.getElementById("token-dialog");
  const field = dialog.querySelector("input");
  field.value = token();
  dialog.querySelector(".error").textContent = "";
  field.removeAttribute("aria-invalid");
  dialog.showModal();
}

// A token goes into a header, which takes visible characters only.
async function saveToken(event) {
  event.preventDefault();
  const dialog = document.getElementById("token-dialog");
  const field = dialog.querySelector("input");
  const value = field.value.trim();
  if (/[^\x21-\x7e]/.test(value)) {
    field.setAttribute("aria-invalid", "true");
    dialog.querySelector(".error").textContent = "A token has no spaces and only ASCII characters.";
    field.focus();
    return;
  }
  setToken(value);
  dialog.close();
  ctx.announce(value ? "Token set" : "Token removed");
  if (rendered) await refresh();
  view.dispatchEvent(new CustomEvent("token"));
}

// copy puts the text of a button's data-copy, or of the element that it names, on the
// clipboard. Pages that came over plain HTTP from another machine have no clipboard:
// there the text is selected.
async function copy(button) {
  const source = document.getElementById(button.dataset.copy);
  const text = source ? source.textContent.trim() : button.dataset.copy;
  let done = "Copied";
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    if (source) getSelection().selectAllChildren(source);
    done = "Press Ctrl+C";
  }
  button.textContent = done;
  button.dataset.own = ""; // news of the server leave it so
  ctx.announce(done);
  setTimeout(() => {
    button.textContent = "Copy";
    delete button.dataset.own;
  }, 2000);
}

document.getElementById("theme").addEventListener("click", switchTheme);
document.getElementById("token")?.addEventListener("click", openToken);
document.getElementById("token-form")?.addEventListener("submit", saveToken);
document.getElementById("token-cancel")?.addEventListener("click", () => document.getElementById("token-dialog").close());
document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-copy]");
  if (button) copy(button);
  const opener = event.target.closest("[data-token]");
  if (opener) openToken();
});

// The frame came without a token; what the token shows is fetched with it.
if (rendered && token()) await refresh();
const tab = await import(`./${body.dataset.tab}.js`);
await tab.mount(view, ctx);
body.dataset.ready = "true";
performance.mark("bloomery-ready");
