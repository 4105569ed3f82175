// Calls of /v1 as this page makes them.

export const settings = {
  get(name, fallback = "") { return localStorage.getItem("holdpoint." + name) ?? fallback; },
  set(name, value) { localStorage.setItem("holdpoint." + name, value); },
};

export const myName = () => settings.get("name").trim();

export class Refused extends Error {
  constructor(status, problem) {
    super(problem.detail || problem.title || "the service answered " + status);
    this.status = status;
    this.problem = problem;
  }
}

// headers are those of every call. A name that is no header text is left to the service to refuse.
export function headers(more = {}) {
  const all = { "X-Via": "inbox", ...more };
  const name = myName();
  if (name && /^[\x20-\x7e]+$/.test(name)) all["X-Actor"] = name;
  return all;
}

// call makes one call. It throws Refused for an answer that refuses, and TypeError when there
// was no answer.
export async function call(method, path, body, more) {
  const options = { method, headers: headers(more), credentials: "same-origin", cache: "no-store" };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers["Content-Type"] = "application/json";
  }
  const response = await fetch(path, options);
  const text = await response.text();
  let document = null;
  try { document = text ? JSON.parse(text) : null; } catch { /* a proxy's page */ }
  if (!response.ok) throw new Refused(response.status, document ?? {});
  return document;
}

export const get = path => call("GET", path);
export const path = (...segments) => "/v1/" + segments.map(encodeURIComponent).join("/");
export const newKey = () => crypto.randomUUID();

const pause = ms => new Promise(done => setTimeout(done, ms));

// persist repeats a call with its key until the service has answered it.
export async function persist(method, target, body, key) {
  for (let wait = 300; ; wait = Math.min(wait * 2, 5000)) {
    try {
      return await call(method, target, body, { "Idempotency-Key": key });
    } catch (error) {
      const answered = error instanceof Refused && error.status < 500 && error.status !== 429 && error.status !== 408;
      if (answered) throw error;
    }
    await pause(wait);
  }
}
