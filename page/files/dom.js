// Elements without a template: el("p", { class: "muted" }, "text", child).

const svgNames = "http://www.w3.org/2000/svg";

export const el = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);
export const svg = (name, attributes, ...children) => fill(document.createElementNS(svgNames, name), attributes, children);

function fill(element, attributes = {}, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on") for (const [event, run] of Object.entries(value)) element.addEventListener(event, run);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

// style loads a style sheet of a tab and returns when it is there.
export function style(name) {
  if (document.querySelector(`link[href="${name}"]`)) return Promise.resolve();
  return new Promise((done) => {
    const link = el("link", { rel: "stylesheet", href: name, on: { load: done, error: done } });
    document.head.append(link);
  });
}

// address returns the page's own address with these parameters.
export function address(params) {
  const text = String(params);
  return text ? `${location.pathname}?${text}` : location.pathname;
}

// delayed runs f once after a pause in the calls.
export function delayed(f, ms) {
  let timer = 0;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => f(...values), ms);
  };
}
