// What a key decides.
import assert from "node:assert/strict";
import { test } from "node:test";

let now = 10_000;
performance.now = () => now;
const calls = [];
globalThis.addEventListener = globalThis.removeEventListener = () => {};
let narrow = false;
globalThis.matchMedia = query => ({ get matches() { return narrow && query.includes("max-width"); }, addEventListener() {} });
globalThis.sessionStorage = globalThis.localStorage = { getItem: () => null, setItem() {}, removeItem() {} };
globalThis.location = { pathname: "/", search: "", origin: "http://localhost" };
const at = to => { const { pathname, search } = new URL(to, location.origin); Object.assign(location, { pathname, search }); };
globalThis.history = { replaceState: (state, title, to) => at(to), pushState: (state, title, to) => { at(to); pushed.push(to); } };
globalThis.scrollTo = () => {};
const pushed = [];
let copied = "";
Object.defineProperty(globalThis, "navigator", { configurable: true, value: { clipboard: { writeText: async text => { copied = text; } } } });
globalThis.setInterval = globalThis.requestAnimationFrame = () => 0;
globalThis.setTimeout = () => 0;
globalThis.clearTimeout = () => {};
Map.groupBy ??= (list, of) => list.reduce((groups, one) => groups.set(of(one), [...groups.get(of(one)) ?? [], one]), new Map());
let shown = { dataset: { handle: "h" }, querySelector: () => null, focus() {} }; // the detail
let groups = []; // of the questions, as they stand in the page
const focus = { dataset: { handle: "h" }, closest: selector => selector === ".question" ? focus.group : selector.startsWith(".list") ? focus.list : selector === "[data-handle]" || selector === "#main, header" ? focus : null, matches: () => false };
globalThis.document = { activeElement: focus, querySelector: () => null, querySelectorAll: () => groups, getElementById: id => id === "detail" ? shown : null, addEventListener() {} };
globalThis.fetch = async (path, { method, body }) => {
  calls.push({ path, method, body });
  return { ok: true, status: 200, text: async () => JSON.stringify({ request: {}, via: "open" }) };
};
const { inbox } = await import(`${process.env.HOLDPOINT_ASSETS}/inbox.js`);
const { place } = await import(`${process.env.HOLDPOINT_ASSETS}/shown.js`);
const { keys } = await import(`${process.env.HOLDPOINT_ASSETS}/keys.js`);
const { mayEdit } = await import(`${process.env.HOLDPOINT_ASSETS}/approval.js`);
const { Json } = await import(`${process.env.HOLDPOINT_ASSETS}/exact.js`);

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

test("a call of which no edit is accepted has no form for one", () => {
  for (const [schema, form] of [[undefined, "edit"], ['{"type":"object"}', "edit"], ['"false"', "edit"], ["true", "edit"], ["false", undefined]]) {
    const one = raised("approval", { id: "a", tool_name: "Bash", input: new Json("{}"), ...(schema && { input_schema: new Json(schema) }) });
    press("e");
    assert.equal(one.form, form, schema);
    assert.equal(mayEdit(one), form === "edit", schema);
  }
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

// list puts requests into the list, "b!" for one that is settled and "c?" for a question, and the focus on the row of one.
function list(words, on) {
  inbox.prompts.clear();
  inbox.selected.clear();
  Object.assign(inbox, { selectedLast: "", order: [], connection: "live" });
  for (const [handle, sign] of words.split(" ")) {
    const request = { id: handle, ...sign === "?" ? { questions: [] } : { tool_name: "Bash" } };
    inbox.prompts.set(handle, { handle, kind: sign === "?" ? "question" : "approval", session: handle, agent: "a", run: "r", barred: "", request, ...sign === "!" && { resolution: {} } });
    inbox.order.push(handle);
  }
  rests(on);
  pushed.length = calls.length = 0;
  copied = "";
  narrow = false;
  at("/");
  now += 10_000;
}
function rests(on) {
  place.handle = focus.dataset.handle = on;
  shown = { dataset: { handle: on }, querySelector: () => null, focus() {} };
}
let helps = 0;
// typed presses keys one after the other: "Shift+x", "Ctrl+a", or one that stands for itself.
const typed = keysOf => {
  for (const name of keysOf.split(" ")) {
    const [key, ...held] = name.split("+").reverse();
    keys({ key, type: "keydown", target: focus, shiftKey: held.includes("Shift"), ctrlKey: held.includes("Ctrl"), metaKey: held.includes("Cmd"), getModifierState: () => false, preventDefault() {} }, () => { helps++; }, () => {});
  }
};
const selected = () => [...inbox.selected].sort().join("");

test("keys that move, open and lead to pages", () => {
  for (const [pressed, on, handle, address] of [
    ["j", "a", "b", "/"], ["k", "c", "b", "/"], ["j", "d", "d", "/"], ["ArrowDown", "a", "b", "/"], ["ArrowUp", "a", "a", "/"],
    ["n", "a", "c", "/"], ["n", "d", "a", "/"], // b is settled, and the first one follows the last
    ["o", "c", "c", "/?prompt=c"],
    ["u", "a", "a", "/"],
    ["g i", "a", "a", "/"], ["g h", "a", "a", "/history"], ["g r", "a", "a", "/rules"], ["g s", "a", "a", "/settings"],
    ["g q h", "a", "a", "/"], ["h", "a", "a", "/"],
  ]) {
    list("a b! c d", on);
    focus.list = focus;
    typed(pressed);
    assert.deepEqual([place.handle, location.pathname + location.search], [handle, address], pressed);
  }
  assert.deepEqual([list("a", "a"), typed("g"), now += 1000, typed("h"), location.pathname].at(-1), "/", "a second later it is another key");
  list("a", "a");
  typed("o");
  assert.deepEqual(pushed, ["/?prompt=a"], "Back returns from it");
  const before = helps;
  typed("?");
  assert.equal(helps, before + 1);
});

test("u leads back from another page, and on a narrow page from a request", () => {
  list("a", "a");
  at("/rules");
  typed("u");
  assert.equal(location.pathname, "/");
  narrow = true;
  at("/?prompt=a&kind=approval");
  typed("u");
  assert.equal(location.search, "?kind=approval");
});

test("keys of the list move nothing on another page, and leave arrows to it", () => {
  for (const pressed of ["j", "k", "n", "o", "ArrowDown", "ArrowUp"]) for (const width of [false, true]) {
    list("a b c", "b");
    narrow = width;
    at("/history?prompt=b");
    let taken = false;
    keys({ key: pressed, type: "keydown", target: focus, preventDefault() { taken = true; } }, () => {}, () => {});
    assert.deepEqual([place.handle, location.pathname + location.search, taken && pressed.startsWith("Arrow")], ["b", "/history?prompt=b", false], pressed);
  }
});

test("keys that select", () => {
  for (const [pressed, chosen] of [
    ["x", "b"], ["x x", ""], ["X", "b"], // Caps Lock
    ["Ctrl+a", "abdf"], ["Cmd+a", "abdf"], ["Ctrl+A", "abdf"], ["Ctrl+Shift+A", ""], ["Ctrl+b", ""],
  ]) {
    list("a b c! d e? f", "b");
    focus.list = focus;
    typed(pressed);
    assert.equal(selected(), chosen, pressed);
  }
  focus.list = null;
  list("a b", "b");
  typed("Ctrl+a");
  assert.equal(selected(), "", "in the open request the browser selects its text");
  list("a b c! d e? f", "b");
  typed("x");
  rests("f");
  typed("Shift+X");
  assert.equal(selected(), "bdf");
  list("a b", "b");
  inbox.selectedLast = "gone";
  typed("Shift+X");
  assert.equal(selected(), "b", "the row that a range would begin at has left the list");
});

test("arrows move among the options of which several may be chosen", () => {
  list("a? b", "a");
  const focused = [], options = { querySelectorAll: () => boxes };
  const box = name => ({ ...focus, name, matches: selector => selector === "input[type=checkbox]", closest: selector => selector === ".options" ? options : focus.closest(selector), focus() { focused.push(name); document.activeElement = this; } });
  const boxes = [box("1"), box("2"), box("3")];
  document.activeElement = boxes[0];
  typed("ArrowDown ArrowDown ArrowDown ArrowUp");
  assert.equal(focused.join(""), "2313");
  boxes[1].closest = selector => selector === ".options" ? null : focus.closest(selector); // the box that selects a row
  document.activeElement = boxes[1];
  focus.list = focus;
  typed("ArrowDown");
  assert.equal(place.handle, "b");
  document.activeElement = focus;
  focus.list = null;
});

test("c copies the link, of a settled request too", async () => {
  for (const words of ["a", "a!"]) {
    list(words, "a");
    typed("c");
    await settle();
    assert.equal(copied, "http://localhost/?prompt=a");
  }
});

test("no key decides while the page is offline", async () => {
  for (const pressed of ["a", "d", "D", "e", "r"]) {
    list("a", "a");
    inbox.connection = "offline";
    typed(pressed);
    await settle();
    assert.deepEqual([inbox.prompts.get("a").form, denied()], [undefined, false], pressed);
  }
});
