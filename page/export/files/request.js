// Answers without a server: the same Go code, compiled for browsers, answers here. It is about a
// megabyte; meanwhile answers.json, which came with the page, has those of the first lessons.
// It takes the place of the request.js that asks a server.
import "./wasm_exec.js";

export const token = () => "";
export function setToken() {}
export const headers = (more = {}) => more;

// Failure is an answer that is an error: its message is for people, fields has what is wrong with
// each field.
export class Failure extends Error {
  constructor(message, status, fields = null) {
    super(message);
    this.status = status;
    this.fields = fields;
  }
}

const known = fetch("answers.json").then((response) => (response.ok ? response.json() : {})).catch(() => ({}));

let code = null; // a promise of the function that answers

// load fetches and starts the code once.
function load() {
  code ??= start().catch((error) => {
    code = null; // the next question tries again
    throw new Failure(`The code of the page cannot be loaded: ${error.message}`, 0);
  });
  return code;
}

async function start() {
  const go = new globalThis.Go();
  const response = await fetch("bloomery.bin");
  if (!response.ok) throw new Error(`status ${response.status}`);
  const plain = response.body.pipeThrough(new DecompressionStream("gzip"));
  const { instance } = await WebAssembly.instantiateStreaming(new Response(plain, { headers: { "Content-Type": "application/wasm" } }), go.importObject);
  await new Promise((ready) => {
    globalThis.bloomeryReady = ready;
    go.run(instance);
  });
  performance.mark("bloomery-code");
  return globalThis.bloomeryAnswer;
}

// request returns the answer to a question. path is that below api/v1/.
export async function request(path, { signal } = {}) {
  const ready = (await known)[path];
  if (ready) return ready;
  const [question, query = ""] = path.split("?");
  const ask = await load();
  signal?.throwIfAborted();
  const reply = JSON.parse(ask(question, query));
  if (reply.error) throw new Failure(reply.error, 400, reply.fields);
  return reply.body;
}

// What is asked next should not wait: the code is fetched when the first lesson has been drawn.
const drawn = new MutationObserver(() => {
  if (!document.body.dataset.ready) return;
  drawn.disconnect();
  load().catch(() => {});
});
drawn.observe(document.body, { attributes: true, attributeFilter: ["data-ready"] });
