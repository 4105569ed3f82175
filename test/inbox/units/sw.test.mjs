// The worker that shows notifications, in a world of the test: what it shows, and what a press opens.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { createContext, runInContext } from "node:vm";

const source = readFileSync(process.env.HOLDPOINT_ASSETS + "/sw.js", "utf8");

// world answers the worker's calls by answers, a function of the address, the method and the body: a document, or a number, which is a
// status. Without it nothing can be reached.
function world(tabs = [], answers = null, { opens = true, hostname = "holdpoint.example" } = {}) {
  const shown = [], gone = new Set(), opened = [], closed = [], listeners = {}, calls = [];
  const scope = {
    URL, AbortSignal, crypto, location: { origin: "https://holdpoint.example", hostname },
    fetch: async (address, { method = "GET", headers, body } = {}) => {
      if (!answers) throw new TypeError("Failed to fetch");
      if (method !== "GET") calls.push({ address, headers, body: JSON.parse(body) });
      const answer = answers(address, method);
      return typeof answer === "number" ? { ok: false, status: answer } : { ok: true, json: async () => answer };
    },
    addEventListener: (type, listen) => { listeners[type] = listen; },
    skipWaiting: () => {},
    registration: {
      showNotification: async (title, options) => { shown.push({ title, ...options }); },
      getNotifications: async ({ tag }) => shown.filter(one => one.tag === tag).slice(-1).filter(one => !gone.has(one)).map(one => ({ ...one, close: () => closed.push(one.title) })),
    },
    clients: { matchAll: async () => tabs, openWindow: async path => { if (opens) opened.push(path); else throw new Error("too late"); }, claim: async () => {} },
  };
  runInContext(source, createContext(scope));
  const fire = async (type, event) => { let done; listeners[type]({ ...event, waitUntil: until => { done = until; } }); await done; };
  return {
    shown, opened, closed, calls,
    push: text => fire("push", { data: text === undefined ? null : { json: () => JSON.parse(text) } }),
    press: async (one, action = "") => { let closed = 0; await fire("notificationclick", { action, notification: { ...one, close: () => { closed++; gone.add(one); } } }); assert.equal(closed, 1); },
  };
}

const message = (navigate, more) => JSON.stringify({ web_push: 8030, notification: { title: "Approval needed: deploy", body: "x", navigate, tag: "t", data: { id: "1" }, ...more } });

test("a press opens the request", async () => {
  const w = world();
  await w.push(message("https://holdpoint.example/?prompt=request_1"));
  const { data, ...rest } = w.shown[0];
  assert.deepEqual({ ...rest }, { title: "Approval needed: deploy", body: "x", tag: "t", silent: false, renotify: true, icon: "/assets/icon-192.png", actions: rest.actions });
  assert.deepEqual({ ...data }, { id: "1", handle: "", path: "/?prompt=request_1", atMs: 0 });
  await w.press(w.shown[0]);
  assert.deepEqual(w.opened, ["/?prompt=request_1"]);
});

test("a press shows the tab that has it, and leaves others alone", async () => {
  const focused = [];
  const tab = path => ({ url: "https://holdpoint.example" + path, focus: async () => { focused.push(path); } });
  const w = world([tab("/?prompt=request_2"), tab("/?prompt=request_1")]);
  await w.push(message("/?prompt=request_1"));
  await w.press(w.shown[0]);
  assert.deepEqual([focused, w.opened], [["/?prompt=request_1"], []]);
});

test("who looks at the inbox hears nothing", async () => {
  const w = world([{ url: "https://holdpoint.example/", focused: true }]);
  await w.push(message("/"));
  assert.equal(w.shown[0].silent, true);
});

test("another message about a request alerts again, and a repeated one does not", async () => {
  const w = world();
  await w.push(message("/"));
  await w.push(message("/"));
  await w.push(message("/", { data: { id: "2" } }));
  await w.push(message("/", { tag: "" })); // browsers refuse renotify without a tag
  assert.deepEqual(w.shown.map(one => one.renotify), [true, false, true, false]);
  assert.equal(new Set(w.shown.slice(0, 3).map(one => one.tag)).size, 1, "the browser shows one of them");
});

test("the outcome takes the place of the notification silently, and goes for people who look at the inbox", async () => {
  const outcome = message("/", { title: "Approval of deploy: allowed", silent: true, data: { id: "3" } });
  for (const [tabs, closed] of [[[], []], [[{ url: "https://holdpoint.example/", focused: true }], ["Approval of deploy: allowed"]]]) {
    const w = world(tabs);
    await w.push(message("/"));
    await w.push(outcome);
    assert.deepEqual([w.shown[1].silent, w.shown[1].renotify, w.shown[1].tag, w.closed], [true, false, "t", closed]);
  }
});

test("every message is shown, and none leads to another host or runs a script", async () => {
  const w = world();
  for (const text of [undefined, "", "[]", "null", "{}", `{"notification":1}`, `{"notification":null}`]) await w.push(text);
  for (const to of ["https://evil.example/", "//evil.example/x", "https://holdpoint.example//evil.example/", "javascript:alert(1)", "https://[", ""]) await w.push(message(to));
  assert.equal(w.shown.length, 13);
  for (const one of w.shown) {
    await w.press(one);
    assert.equal(new URL(w.opened.at(-1), "https://holdpoint.example").origin, "https://holdpoint.example", one.data.path);
  }
});

const asking = message("/?prompt=request_1", { data: { id: "1", handle: "request_1" } });
const view = { run_id: "run/1", request: { id: "call-1", input_digest: "sha256:ab" } };
const signedIn = (decides = () => ({})) => (address, method) => method === "GET" ? address === "/v1/me" ? { role: "operator" } : view : decides();
const names = one => one.actions.map(({ title }) => title).join();

test("Deny denies this approval, and the answer takes its place", async () => {
  const w = world([], signedIn());
  await w.push(asking);
  assert.equal(names(w.shown[0]), "Deny,Open");
  await w.press(w.shown[0], "deny");
  assert.equal(w.calls.length, 1);
  const { address, headers, body } = w.calls[0];
  assert.equal(address, "/v1/runs/run%2F1/approvals");
  assert.deepEqual(body, { resolutions: [{ request_id: "call-1", handle: "request_1", input_digest: "sha256:ab", behavior: "deny" }] });
  assert.match(headers["Idempotency-Key"], /^[0-9a-f-]{36}$/);
  assert.deepEqual([headers["X-Via"], w.opened], ["notification", []]);
  const last = w.shown.at(-1);
  assert.deepEqual([last.title, last.body, last.tag, last.silent, last.actions], ["Denied", "x", "t", true, undefined]);
  await w.press(last);
  assert.deepEqual([w.opened, w.calls.length], [["/?prompt=request_1"], 1]);
});

test("Open, and a press next to the buttons, open the request and decide nothing", async () => {
  const w = world([], signedIn());
  await w.push(asking);
  await w.press(w.shown[0], "open");
  await w.press(w.shown[0]);
  await w.press(w.shown[0], "allow");
  assert.deepEqual([w.opened, w.calls], [Array(3).fill("/?prompt=request_1"), []]);
});

test("a denial that was not recorded says nothing, and opens the request", async () => {
  for (const refused of [401, 403, 404, 409, 500, 503]) {
    const w = world([], signedIn(() => refused));
    await w.push(asking);
    await w.press(w.shown[0], "deny");
    assert.deepEqual([w.opened, w.shown.length], [["/?prompt=request_1"], 1], String(refused));
  }
  let reached = true;
  const w = world([], (address, method) => { if (!reached) throw new TypeError("Failed to fetch"); return signedIn()(address, method); });
  await w.push(asking);
  reached = false;
  await w.press(w.shown[0], "deny");
  assert.deepEqual([w.opened, w.shown.length], [["/?prompt=request_1"], 1]);
});

test("a denial that was not recorded, too late for a page, says so in a notification", async () => {
  const w = world([], signedIn(() => 503), { opens: false });
  await w.push(asking);
  await w.press(w.shown[0], "deny");
  assert.deepEqual([w.shown[1].title, w.shown[1].tag, names(w.shown[1])], ["The denial may not have been recorded", "t", "Deny,Open"]);
  await w.press(w.shown[1], "deny");
  assert.equal(w.calls.length, 2);
});

test("what comes of a denial does not take the place of what the session has shown meanwhile", async () => {
  for (const [decides, says] of [[() => 409, "The denial may not have been recorded"], [() => ({}), "Denied"]]) {
    const w = world([], signedIn(decides), { opens: false });
    await w.push(asking);
    await w.push(message("/sessions/s", { title: "2 requests are open", data: { id: "3" } }));
    await w.press(w.shown[0], "deny");
    assert.deepEqual(w.shown.slice(1).map(one => [one.title, one.tag]), [["2 requests are open", "t"], [says, "request_1"]]);
  }
});

test("a message that another one has overtaken alerts, and does not take its place", async () => {
  const about = (title, id, atMs, more) => message("/?prompt=" + id, { title, data: { id, handle: id, at_ms: atMs }, ...more });
  const w = world([], signedIn());
  await w.push(about("2 requests are open", "b", 20, { data: { id: "b", at_ms: 20 } }));
  await w.push(about("Approval needed: deploy", "a", 10));
  await w.push(about("Approval of deploy: allowed", "a", 15, { silent: true }));
  assert.deepEqual(w.shown.map(one => [one.title, one.data.path, names(one), one.renotify, one.silent]), [
    ["2 requests are open", "/?prompt=b", "", true, false], ["2 requests are open", "/?prompt=b", "", true, false], ["2 requests are open", "/?prompt=b", "", false, true],
  ]);
  await w.push(about("Approval needed: deploy", "c", 30));
  assert.deepEqual([w.shown.at(-1).title, names(w.shown.at(-1))], ["Approval needed: deploy", "Deny,Open"]);
  await w.push(about("Approval needed: later", "d", 90_000_000));
  await w.push(about("Approval needed: after the clock was set back", "e", 86_400_000));
  assert.equal(w.shown.at(-1).data.id, "e");
});

test("the outcome is shown last, however long the message before it takes", async () => {
  let answer;
  const asked = new Promise(done => { answer = done; });
  const w = world([], () => asked, { hostname: "localhost" });
  const both = [w.push(asking), w.push(message("/", { title: "Approval of deploy: allowed", silent: true, data: { id: "3" } }))];
  answer({ role: "operator" });
  await Promise.all(both);
  assert.deepEqual(w.shown.map(one => one.title), ["Approval needed: deploy", "Approval of deploy: allowed"]);
});

test("only an approval that this worker may deny has buttons", async () => {
  const local = { hostname: "127.0.0.1" };
  for (const [what, answers, text, more, buttons] of [
    ["the page alone is signed in", () => 401, asking, local, ""],
    ["who is signed in may only read", () => ({ role: "observer" }), asking, local, ""],
    ["an answer of something else", () => null, asking, local, ""],
    ["the service cannot be reached", null, asking, local, ""],
    ["nobody signs in", signedIn(), asking, local, "Deny,Open"],
    ["a cookie, which is not asked for", () => assert.fail("a call"), asking, {}, "Deny,Open"],
    ["a question, an outcome or a count", signedIn(), message("/"), {}, ""],
  ]) {
    const w = world([], answers, more);
    await w.push(text);
    assert.deepEqual([names(w.shown[0]), w.shown.length], [buttons, 1], what);
  }
});

const assets = "/assets/0123456789abcdef";
const shell = ["/", assets + "/app.js", assets + "/style.css"];

// kept is what the worker keeps when the service, or what stands before it, answers so.
async function kept(answers) {
  const stored = new Map(), listeners = {};
  const cache = { match: async address => stored.get(address), put: async (address, response) => { stored.set(address, response.text); } };
  const scope = {
    URL, location: { origin: "https://holdpoint.example" }, skipWaiting: () => {}, clients: { claim: async () => {} }, registration: {},
    addEventListener: (type, listen) => { listeners[type] = listen; },
    caches: { open: async () => cache, keys: async () => [] },
    fetch: async address => {
      const { text, type, ok = true, redirected = false } = answers(address);
      const response = { ok, redirected, text, headers: { get: () => type }, clone: () => ({ text: async () => text }) };
      return response;
    },
  };
  runInContext(source.replace("const shell = [];", `const shell = ${JSON.stringify(shell)};`), createContext(scope));
  let done;
  listeners.install({ waitUntil: until => { done = until; } });
  await done;
  return [...stored.keys()];
}

const right = address => address === "/" ? { text: `<script src="${shell[1]}">`, type: "text/html; charset=utf-8" } : { text: "", type: address.endsWith(".js") ? "text/javascript" : "text/css" };

test("the page is kept whole, and itself last", async () => {
  assert.deepEqual(await kept(right), [...shell].reverse());
});

test("neither a sign-in of a proxy nor another version is kept", async () => {
  for (const wrong of [
    () => ({ text: shell[1], type: "text/html" }),
    address => ({ ...right(address), ok: address !== shell[2] }),
    address => ({ ...right(address), redirected: address === "/" }),
    address => address === "/" ? { text: `<script src="/assets/fedcba9876543210/app.js">`, type: "text/html" } : right(address),
  ]) assert.deepEqual(await kept(wrong), []);
});

test("what the browser has asked for ahead is not asked for again", async () => {
  const listeners = {}, fetched = [];
  runInContext(source, createContext({
    URL, location: { origin: "https://holdpoint.example" }, caches: { open: async () => ({ match: async () => true }) },
    addEventListener: (type, listen) => { listeners[type] = listen; }, fetch: async ({ url }) => { fetched.push(url); return "fetched"; },
  }));
  const answer = async (path, mode, preloadResponse) => {
    let given;
    listeners.fetch({ request: { url: "https://holdpoint.example" + path, method: "GET", mode }, preloadResponse, respondWith: answer => { given = answer; }, waitUntil: () => {} });
    return given && await given;
  };
  for (const path of ["/v1/oidc/callback?code=c", "/v1/oidc/start", "/docs/security", "/history"]) assert.equal(await answer(path, "navigate", Promise.resolve("ahead")), "ahead", path);
  assert.deepEqual(fetched, []);
  for (const none of [undefined, Promise.resolve(undefined)]) assert.equal(await answer("/docs", "navigate", none), "fetched");
  assert.equal(await answer("/v1/me", "cors"), undefined, "the API is not the worker's");
});
