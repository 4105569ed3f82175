// Calls of /v1 as this page makes them.

import { encode, parse } from "./exact.js";

export const settings = {
  get(name, fallback = "") { return localStorage.getItem("holdpoint." + name) ?? fallback; },
  set(name, value) { localStorage.setItem("holdpoint." + name, value); },
};

const utf8 = text => new TextEncoder().encode(text);

// The callback of an issuer keeps it as well (httpapi/oidc).
function keepSession(secret) {
  localStorage.removeItem("holdpoint.session");
  if (!secret) return;
  try { settings.set("session", secret); } catch {
    throw new Error(`Your browser has no room left to remember the sign-in at ${location.origin}. Delete the stored data of this address in the browser's settings, then sign in again.`);
  }
}

// isName reports whether the service records a name. It takes at most 200 bytes, and nothing that cannot be seen.
const printable = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]+$/u;
export const isName = name => printable.test(name) && utf8(name).length <= 200;

export function myName() {
  const name = settings.get("name").trim();
  return isName(name) ? name : "";
}

// account is who calls, as the service sees it: null until it has said so. signedOut says that it
// asks for a sign-in, and unsure that a decision may have been recorded before.
export const account = { me: null, signedOut: false, unsure: false };
const accountListeners = new Set();
export const onAccount = listener => { accountListeners.add(listener); return () => accountListeners.delete(listener); };
const accountChanged = () => { for (const listener of accountListeners) listener(); };

export const mayDecide = () => ["operator", "admin"].includes(account.me?.role);
// looksOnly says that the service refuses every decision of this person.
export const looksOnly = () => ["observer", "agent"].includes(account.me?.role);

let kept = 0, late = null;

// keepPage keeps the page while it shows what cannot be shown again, although the service asks for a sign-in or another tab
// has signed in. It returns what ends that; the sign-in comes then, or the page loads again.
export function keepPage() {
  kept++;
  return () => {
    kept--;
    queueMicrotask(() => { // the next part of the page may keep it
      if (kept > 0 || !late) return;
      const does = late;
      late = null;
      does();
    });
  };
}

// loadAgain shows what another account sees.
export function loadAgain() {
  if (kept > 0) late = loadAgain; // rather than the sign-in, which the page asks for if it needs one
  else location.reload();
}

export function signedOut() {
  if (account.signedOut) return;
  if (kept > 0) { late ??= signedOut; return; }
  Object.assign(account, { me: null, signedOut: true });
  accountChanged();
}

// tellTabs has the other tabs load again: they show what another account saw.
let tellTabs = () => {};
export const onTellTabs = tell => { tellTabs = tell; };

async function readAccount() {
  try {
    account.me = await get("/v1/me");
    accountChanged();
  } catch { /* a page that is signed out says so; without a service the page says that */ }
}

// followAccount does so until the service has said who calls, or that it asks for a sign-in.
export async function followAccount() {
  for (let failures = 0; !account.me && !account.signedOut;) {
    await readAccount();
    if (!account.me && !account.signedOut) await pause(Math.min(retryIn(++failures), 4000)); // drafts wait for it
  }
  // An issuer's sign-in was complete before the page loaded. With a secret of this origin its callback says so (httpapi/oidc).
  const issued = account.me ? ["signingIn", "signedIn"].filter(name => sessionStorage.getItem(name)) : [];
  for (const name of issued) sessionStorage.removeItem(name);
  if (issued.length > 0) tellTabs();
}

// signIn shows a token once. The browser keeps a cookie that no script can read. On a loopback address every port
// would be sent the cookie; there the page keeps a secret of this origin.
export async function signIn(token) {
  const { session } = await call("POST", "/v1/login", undefined, { Authorization: "Bearer " + token });
  keepSession(session);
  tellTabs();
  location.reload();
}

export async function signOut() {
  await call("POST", "/v1/logout");
  keepSession();
  account.me = null;
  sessionStorage.clear();
  tellTabs();
  location.reload();
}

export class Refused extends Error {
  constructor(status, problem) {
    super(problem.detail || problem.title || "the service answered " + status);
    this.status = status;
    this.problem = problem;
  }
}

// headers are sent with every call. A header is bytes to the browser, so the name is written as those of UTF-8.
export function headers(more = {}) {
  const session = settings.get("session");
  const all = { "X-Via": "inbox", ...(session && { Authorization: "Session " + session }), ...more };
  const name = myName();
  // Where people sign in, who decides is who is signed in.
  if (name && account.me?.via === "open") all["X-Actor"] = String.fromCharCode(...utf8(name));
  return all;
}

const unreached = cause => new Error("The service cannot be reached.", { cause }); // a browser's own words differ, and say less

// call makes one call. A gateway may answer in the place of the service, with a page that asks for a sign-in: nothing was
// recorded then. It throws Refused for an answer that refuses, and another Error when there was no answer.
export async function call(method, path, body, more) {
  if (method !== "GET" && !account.me && path !== "/v1/login") await readAccount();
  const options = { method, headers: headers(more), credentials: "same-origin", cache: "no-store" };
  if (body !== undefined) {
    options.body = encode(body);
    options.headers["Content-Type"] = "application/json";
  }
  let response, text;
  try {
    response = await fetch(path, options);
    text = await response.text();
  } catch (cause) { throw unreached(cause); }
  if (response.redirected && new URL(response.url).pathname !== new URL(path, response.url).pathname) throw unreached();
  let document = null;
  if (response.status !== 204) try { document = parse(text); } catch (cause) { if (response.ok) throw unreached(cause); }
  if (!response.ok) {
    if (response.status === 401 && !more?.Authorization) signedOut();
    throw new Refused(response.status, document ?? {});
  }
  return document;
}

// get reads, and once more when there was no answer: the network may have changed meanwhile.
export const get = path => call("GET", path).catch(async error => {
  if (error instanceof Refused) throw error;
  await pause(500);
  return call("GET", path);
});
export const path = (...segments) => "/v1/" + segments.map(encodeURIComponent).join("/");
// newKey works where a page was not loaded securely, too, for example over plain HTTP in an office.
export const newKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), one => one.toString(16).padStart(2, "0")).join("");

export const pause = ms => new Promise(done => setTimeout(done, ms));

// isPassing reports whether the same call may succeed later: there was no answer, or one that says so.
export const isPassing = error => !(error instanceof Refused) || error.status >= 500 || error.status === 429 || error.status === 408;

// retryIn is how many milliseconds a page waits before it repeats a read that has failed so many times in a row.
export const retryIn = failures => Math.min(1000 * 2 ** (failures - 1), 30_000);

// inWords is why the service refuses what somebody typed: what it says of the field, if it does.
export const inWords = error => error.problem?.errors?.[0]?.detail ?? error.message;

// problemWords say why a call failed, and failureWords also that the page repeats it, where it does.
export const problemWords = error => error instanceof Refused && isPassing(error) ? `The service failed (${error.status}).` : error.message;
export const failureWords = error => problemWords(error) + (isPassing(error) ? " Trying again…" : "");

// persist repeats a call with its key until the service has answered it. A body that depends on the time is a function, and
// each try makes its own. The key is then known with another body if an earlier try was recorded and its answer was lost:
// that is success, and the answer is null.
export async function persist(method, target, body, key) {
  for (let wait = 300, tried = false; ; wait = Math.min(wait * 2, 5000), tried = true) {
    try {
      return await call(method, target, typeof body === "function" ? body() : body, { "Idempotency-Key": key });
    } catch (error) {
      if (tried && error.problem?.code === "idempotency_conflict") return null;
      if (tried && error.status === 401) { account.unsure = true; accountChanged(); } // the answer to an earlier try was lost
      if (!isPassing(error)) throw error;
    }
    await pause(wait);
  }
}
