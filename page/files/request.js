// Requests to the API. The token is kept for this tab of the browser only, and sent
// in a header: another site can neither read it nor have the browser send it.

export function token() {
  try {
    return sessionStorage.getItem("token") ?? "";
  } catch {
    return "";
  }
}

export function setToken(value) {
  try {
    if (value) sessionStorage.setItem("token", value);
    else sessionStorage.removeItem("token");
  } catch {
    // Without storage there is no token.
  }
}

// headers returns the headers of a request, with those that are given.
export function headers(more = {}) {
  const value = token();
  return value ? { Authorization: `Bearer ${value}`, ...more } : more;
}

// Failure is an answer that is an error: its message is for people, status is that of
// HTTP, 0 if no answer came, fields has what is wrong with each field, where the API
// says that.
export class Failure extends Error {
  constructor(message, status, fields = null) {
    super(message);
    this.status = status;
    this.fields = fields;
  }
}

// request returns the JSON that the API answers. body is sent as JSON. path is
// relative to api/v1/.
export async function request(path, { method = "GET", body, signal } = {}) {
  const more = body === undefined ? {} : { "Content-Type": "application/json" };
  let response;
  try {
    response = await fetch(`api/v1/${path}`, {
      method,
      signal,
      headers: headers(more),
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Failure("The server does not answer.", 0);
  }
  const text = await response.text();
  let data = null;
  try {
    data = text ? JSON.parse(text) : null;
  } catch {
    data = null;
  }
  if (!response.ok) throw new Failure(reason(data, response.status), response.status, data?.error?.fields);
  return data;
}

// reason returns what an error answer says.
function reason(data, status) {
  const said = data?.error?.message ?? data?.error ?? data?.message ?? data?.detail;
  if (typeof said === "string" && said) return said.replace(/^(ERR|NOPERM|WRONGTYPE|NOAUTH) /, "");
  if (status === 401) return "A token is needed.";
  if (status === 403) return "This is not allowed.";
  if (status === 404) return "There is no such filter.";
  return `The server answered with status ${status}.`;
}
