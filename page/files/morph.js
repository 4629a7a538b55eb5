// The server renders the page; to show news, the page is fetched again and what has
// changed is put in place. Focus, selection, open details and what was typed stay.
import { headers } from "./request.js";

let latest = 0;

// refresh brings #view up to date with the address. It reports whether that worked: an
// answer that a later one has overtaken is dropped.
export async function refresh() {
  const mine = ++latest;
  let response, text;
  try {
    response = await fetch(location.href, { headers: headers({ Accept: "text/html" }) });
    text = await response.text();
  } catch {
    return false;
  }
  if (mine !== latest) return false;
  const fresh = new DOMParser().parseFromString(text, "text/html").getElementById("view");
  if (!fresh) return false;
  children(document.getElementById("view"), fresh);
  return response.ok;
}

function children(from, to) {
  const keyed = new Map();
  for (const child of from.children) if (child.dataset?.key !== undefined) keyed.set(child.dataset.key, child);
  let at = from.firstChild;
  for (const wanted of [...to.childNodes]) {
    const key = wanted.dataset?.key;
    const have = key === undefined ? at : keyed.get(key);
    if (!have || !alike(have, wanted) || (key === undefined && at?.dataset?.key !== undefined)) {
      from.insertBefore(document.importNode(wanted, true), at);
      continue;
    }
    if (have === at) at = at.nextSibling;
    else from.insertBefore(have, at);
    node(have, wanted);
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

function alike(a, b) {
  return a.nodeType === b.nodeType && a.nodeName === b.nodeName && (a.id ?? "") === (b.id ?? "");
}

function node(from, to) {
  if (from.nodeType !== Node.ELEMENT_NODE) {
    if (from.data !== to.data) {
      from.data = to.data;
      flash(from.parentElement);
    }
    return;
  }
  for (const { name } of [...from.attributes]) {
    if (!to.hasAttribute(name) && !kept(from, name)) from.removeAttribute(name);
  }
  for (const { name, value } of to.attributes) {
    if (from.getAttribute(name) !== value && !kept(from, name)) from.setAttribute(name, value);
  }
  // What a script fills is the script's.
  if (!from.hasAttribute("data-own")) children(from, to);
}

// kept reports whether an attribute is the state of something that a person uses.
function kept(element, name) {
  return (
    (name === "open" && element.nodeName === "DETAILS") ||
    name === "aria-invalid" ||
    name === "data-own" ||
    (name === "value" && element.nodeName === "INPUT" && element.type !== "hidden") ||
    (name === "class" && element.hasAttribute("data-own"))
  );
}

function flash(element) {
  const of = element?.closest("[data-flash]");
  if (!of) return;
  of.classList.remove("changed");
  void of.offsetWidth; // starts the animation again
  of.classList.add("changed");
}
