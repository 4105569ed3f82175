// What is typed into a search and the address of the page, with a clock and a history of the test.
import assert from "node:assert/strict";
import { test } from "node:test";

let writes = [], popped = () => {};
globalThis.addEventListener = (_, listener) => { popped = listener; };
globalThis.scrollTo = () => {};
globalThis.location = { pathname: "/", search: "" };
const write = how => (_, __, to) => {
  const at = new URL(to, "http://inbox");
  Object.assign(location, { pathname: at.pathname, search: at.search });
  writes.push(`${how} ${to}`);
};
globalThis.history = { replaceState: write("replace"), pushState: write("push") };
const { go, onRoute, query, setQuery, typeQuery } = await import(process.env.HOLDPOINT_ASSETS + "/route.js");

// opened is the page at an address, with nothing written yet.
function opened(t, search = "") {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  popped();
  Object.assign(location, { pathname: "/", search });
  writes = [];
}

test("each letter is searched for at once, and the address is written once the typing rests", t => {
  opened(t, "?kind=approval");
  const seen = [], stop = onRoute(() => seen.push(query().get("q")));
  for (const words of ["d", "de", "dep"]) { typeQuery({ q: words }); t.mock.timers.tick(300); }
  assert.deepEqual(seen, ["d", "de", "dep"]);
  assert.deepEqual(writes, [], "a browser that refuses the hundredth change would end the search");
  t.mock.timers.tick(400);
  assert.deepEqual(writes, ["replace /?kind=approval&q=dep"]);
  assert.equal(query().get("q"), "dep");
  stop();
});

test("another filter keeps what was typed before it, and is written at once", t => {
  opened(t);
  typeQuery({ q: "dep" });
  setQuery({ kind: "question" }, true);
  assert.deepEqual(writes, ["replace /?q=dep&kind=question"]);
  t.mock.timers.tick(1_000);
  assert.equal(writes.length, 1);
});

test("Back from another page leads to what was typed", t => {
  opened(t);
  typeQuery({ q: "dep" });
  go("/history");
  assert.deepEqual(writes, ["replace /?q=dep", "push /history"]);
  assert.equal(query().get("q"), null);
  t.mock.timers.tick(1_000);
  assert.equal(writes.length, 2, "what was typed on one page is not written to another");
});

test("Back while somebody types shows the address that Back leads to", t => {
  opened(t);
  typeQuery({ q: "dep" });
  location.search = "?q=before";
  popped();
  t.mock.timers.tick(1_000);
  assert.equal(query().get("q"), "before");
  assert.deepEqual(writes, []);
});

test("a search that is emptied leaves no question mark", t => {
  opened(t, "?q=dep");
  typeQuery({ q: "" });
  assert.equal(query().get("q"), null);
  t.mock.timers.tick(400);
  assert.deepEqual(writes, ["replace /"]);
});

test("an address that the browser refuses is shown, and written later", t => {
  opened(t);
  const { replaceState, pushState } = history, loads = [];
  location.assign = to => loads.push(to);
  history.replaceState = history.pushState = () => { throw new DOMException("more than 100 times per 30 seconds", "SecurityError"); };
  typeQuery({ prompt: "a" });
  t.mock.timers.tick(400);
  assert.equal(query().get("prompt"), "a");
  setQuery({ prompt: "b" });
  assert.equal(query().get("prompt"), "b");
  go("/history");
  assert.deepEqual(loads, ["/history"], "another page is loaded");
  setQuery({ prompt: "c" }, true);
  Object.assign(history, { replaceState, pushState });
  t.mock.timers.tick(5_000);
  assert.deepEqual(writes, ["replace /?prompt=c"]);
});
