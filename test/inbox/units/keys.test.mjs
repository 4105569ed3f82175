// What a key decides.
import assert from "node:assert/strict";
import { test } from "node:test";

let now = 10_000;
performance.now = () => now;
const calls = [];
globalThis.addEventListener = globalThis.removeEventListener = () => {};
globalThis.matchMedia = () => ({ matches: false, addEventListener() {} });
globalThis.sessionStorage = globalThis.localStorage = { getItem: () => null, setItem() {}, removeItem() {} };
globalThis.location = { pathname: "/", search: "", origin: "http://localhost" };
globalThis.setInterval = globalThis.requestAnimationFrame = () => 0;
globalThis.setTimeout = () => 0;
Map.groupBy ??= (list, of) => list.reduce((groups, one) => groups.set(of(one), [...groups.get(of(one)) ?? [], one]), new Map());
let shown = { dataset: { handle: "h" }, querySelector: () => null, focus() {} }; // the detail
let groups = []; // of the questions, as they stand in the page
const focus = { dataset: { handle: "h" }, closest: selector => selector === ".question" ? focus.group : selector === "[data-handle]" || selector === "#main, header" ? focus : null, matches: () => false };
globalThis.document = { activeElement: focus, querySelector: () => null, querySelectorAll: () => groups, getElementById: id => id === "detail" ? shown : null, addEventListener() {} };
globalThis.fetch = async (path, { method, body }) => {
  calls.push({ path, method, body });
  return { ok: true, status: 200, text: async () => JSON.stringify({ request: {}, via: "open" }) };
};
const { inbox } = await import(`${process.env.HOLDPOINT_ASSETS}/inbox.js`);
const { place } = await import(`${process.env.HOLDPOINT_ASSETS}/shown.js`);
const { keys } = await import(`${process.env.HOLDPOINT_ASSETS}/keys.js`);

const raised = (kind, request) => {
  const one = { handle: "h", kind, session: "s", agent: "a", run: "r", digest: "d", barred: "", request };
  inbox.prompts.set("h", one);
  inbox.order = ["h"];
  place.handle = "h";
  calls.length = 0;
  now += 10_000;
  return one;
};
const press = (key, capsLock = false) => keys({ key, type: "keydown", target: focus, getModifierState: name => name === "CapsLock" && capsLock, preventDefault() {} }, () => {}, () => {});
const settle = async () => { for (let i = 0; i < 5; i++) await new Promise(done => setImmediate(done)); };
const denied = () => calls.some(({ path }) => path === "/v1/runs/r/approvals");

test("a letter that Caps Lock makes large decides nothing", async () => {
  let one = raised("approval", { id: "a", tool_name: "Bash" });
  press("D", true);
  await settle();
  assert.deepEqual([one.form, one.writes, denied()], ["deny", true, false], "the reason has the next letters");
  one = raised("approval", { id: "a", tool_name: "Bash" });
  press("D");
  await settle();
  assert.deepEqual([one.form, denied()], [undefined, true]);
});

test("a number chooses an option of the question that has the focus, else of the first", () => {
  const asked = id => ({ id, question: id, options: [{ id: "a", label: "A" }, { id: "b", label: "B" }] });
  const one = raised("question", { id: "q", questions: [asked("route"), { ...asked("extras"), multi_select: true }] });
  const chosen = () => Object.fromEntries(Object.entries(JSON.parse(one.drafts.answer)).map(([id, given]) => [id, given.selected_option_ids.join("")]));
  groups = [{}, {}];
  press("2");
  assert.deepEqual(chosen(), { route: "b" });
  focus.group = groups[1];
  press("1");
  press("2");
  assert.deepEqual(chosen(), { route: "b", extras: "ab" });
  focus.group = groups[0];
  press("1");
  assert.deepEqual(chosen(), { route: "a", extras: "ab" });
});

test("no key decides about a request that the detail does not show", async () => {
  const drawn = shown;
  shown = { ...drawn, dataset: {} };
  let one = raised("approval", { id: "a", tool_name: "Bash" });
  for (const key of ["a", "d", "D", "e", "r"]) press(key);
  await settle();
  assert.deepEqual([one.form, denied()], [undefined, false]);
  press("x");
  assert.ok(inbox.selected.has("h"), "selecting decides nothing");
  inbox.selected.clear();
  groups = [{}];
  one = raised("question", { id: "q", questions: [{ id: "route", question: "route", options: [{ id: "a", label: "A" }, { id: "b", label: "B" }] }] });
  press("1");
  assert.equal(one.drafts?.answer, undefined);
  shown = drawn;
  press("1");
  assert.match(one.drafts.answer, /"a"/);
});
