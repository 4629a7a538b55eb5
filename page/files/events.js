// Server-sent events, read with fetch: an EventSource could not send the token.
import { headers } from "./request.js";

const longest = 15_000; // ms between two attempts to connect

// The events of the server alone: the filters that are shown are fetched by the page.
const source = "api/v1/events?sort=name&limit=0";

// listen calls update() for every event of the server, and show(state) when the state
// of the connection changes: live, lost or off. A page that nobody sees has no
// connection.
export function listen(update, show) {
  let wait = 1000;
  let stop = null;
  let timer = 0;

  async function connect() {
    clearTimeout(timer);
    stop?.abort();
    const mine = (stop = new AbortController());
    try {
      const response = await fetch(source, { headers: headers({ Accept: "text/event-stream" }), signal: mine.signal });
      if (response.status === 401 || response.status === 403 || response.status === 404) {
        show("off");
        return;
      }
      if (!response.ok) throw new Error(String(response.status));
      show("live");
      wait = 1000;
      await read(response.body, update);
    } catch {
      // Aborted, or lost: what follows decides.
    }
    if (mine.signal.aborted) return;
    show("lost");
    timer = setTimeout(connect, wait);
    wait = Math.min(2 * wait, longest);
  }

  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      clearTimeout(timer);
      stop?.abort();
    } else connect();
  });
  document.getElementById("view").addEventListener("token", connect);
  addEventListener("pagehide", () => stop?.abort());
  if (!document.hidden) connect();
}

// read passes the events of a stream on until it ends. Comments, which keep the
// connection open, are none.
async function read(stream, update) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const parts = (rest + value).split(/\r?\n\r?\n/);
    rest = parts.pop();
    for (const part of parts) {
      const event = parse(part);
      if (event) update(event);
    }
  }
}

function parse(text) {
  let name = "message";
  const data = [];
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith("event:")) name = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(5).replace(/^ /, ""));
  }
  if (data.length === 0) return null;
  try {
    return { name, data: JSON.parse(data.join("\n")) };
  } catch {
    return { name, data: null };
  }
}
