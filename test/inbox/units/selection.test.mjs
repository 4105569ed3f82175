// A filter takes what it hides out of the selection.
import assert from "node:assert/strict";
import { test } from "node:test";

let now = 10_000;
performance.now = () => now;
globalThis.addEventListener = globalThis.removeEventListener = () => {};
globalThis.matchMedia = () => ({ matches: false, addEventListener() {} });
globalThis.sessionStorage = globalThis.localStorage = { getItem: () => null, setItem() {}, removeItem() {} };
globalThis.location = { pathname: "/", search: "", origin: "http://localhost" };
globalThis.history = { replaceState: (state, title, to) => { location.search = to.slice(1); }, pushState: (state, title, to) => { [location.pathname, location.search] = to.split(/(?=\?)/).concat(""); } };
globalThis.document = { addEventListener() {}, getElementById: () => null, querySelector: () => null };
globalThis.setInterval = globalThis.setTimeout = () => 0;
globalThis.scrollTo = () => {};
const assets = process.env.HOLDPOINT_ASSETS;
const { changed, inbox } = await import(assets + "/inbox.js");
const { go, setQuery, typeQuery } = await import(assets + "/route.js");
const { followFilter } = await import(assets + "/selection.js");

const selects = prompts => {
  inbox.prompts = new Map(Object.entries(prompts).map(([handle, more]) => [handle, { handle, kind: "approval", agent: "a", text: handle, request: {}, ...more }]));
  inbox.selected = new Set(inbox.prompts.keys());
};
const selected = () => [...inbox.selected].join(" ");

test("what another filter hides is no longer selected", () => {
  const stop = followFilter();
  selects({ "prod-1": {}, "prod-2": { agent: "b" }, "staging-1": {} });
  setQuery({ prompt: "x" }, true);
  assert.equal(selected(), "prod-1 prod-2 staging-1");
  typeQuery({ q: "prod" });
  assert.equal(selected(), "prod-1 prod-2");
  setQuery({ agent: "b" }, true);
  assert.equal(selected(), "prod-2");
  typeQuery({ q: "staging" });
  assert.equal(selected(), "");
  stop();
});

test("what leaves by itself stays selected, and so does what is sent", async () => {
  setQuery({ q: "", agent: "" }, true);
  const stop = followFilter();
  selects({ one: {}, two: { sending: "Denying in 3 s" } });
  inbox.prompts.get("one").agent = "another";
  setQuery({ prompt: "x" }, true);
  go("/history?q=other");
  assert.equal(selected(), "one two");
  go("/?q=other");
  assert.equal(selected(), "two");
  changed();
  await null;
  assert.equal(selected(), "two");
  delete inbox.prompts.get("two").sending; // it was taken back, and stands where nobody sees it
  changed();
  await null;
  assert.equal(selected(), "");
  stop();
});
