// What the lists say of a row, read once a minute.
import assert from "node:assert/strict";
import { test } from "node:test";

Map.groupBy ??= (list, keyOf) => {
  const groups = new Map();
  for (const one of list) groups.set(keyOf(one), [...groups.get(keyOf(one)) ?? [], one]);
  return groups;
};
let ms = 0, hidden = false, ticks;
const asked = [], shown = new Set(), settle = () => new Promise(done => setImmediate(done));
const answers = new Map();
globalThis.sessionStorage = { getItem: () => null };
globalThis.localStorage = { getItem: () => null };
globalThis.document = { get hidden() { return hidden; }, addEventListener: (_, does) => shown.add(does), removeEventListener: (_, does) => shown.delete(does) };
performance.now = () => ms;
globalThis.setInterval = does => { ticks = does; return 1; };
globalThis.clearInterval = () => { ticks = null; };
globalThis.fetch = async path => {
  asked.push(path);
  return { ok: true, status: 200, text: async () => JSON.stringify(answers.get(path) ?? { items: [], pagination: { has_more: false } }) };
};

const { inbox } = await import(process.env.HOLDPOINT_ASSETS + "/inbox.js");
const { followNotes, noteOf } = await import(process.env.HOLDPOINT_ASSETS + "/notes.js");

const row = (handle, text) => ({ request: { handle }, ...(text && { explain: { text } }) });
const first = "/v1/approvals?page=true&limit=100&fields=summary", questions = first.replace("approvals", "questions");

test("notes are read once a minute, of all pages, while somebody sees the list", async () => {
  for (const handle of ["a", "b", "c"]) inbox.prompts.set(handle, { handle });
  answers.set(first, { items: [row("a", "No worker."), row("b")], pagination: { has_more: true, next_cursor: "x y" } });
  answers.set(first + "&cursor=x%20y", { items: [row("c", "Next: ada.")], pagination: { has_more: false } });
  inbox.connection = "connecting";
  const stop = followNotes();
  assert.deepEqual(asked, [], "not before the list is there");
  inbox.connection = "live";
  ticks();
  assert.deepEqual(asked, [], "nor while its pages are read");
  inbox.complete = true;
  ticks();
  for (let i = 0; i < 10; i++) await settle();
  assert.deepEqual(asked.splice(0), [first, first + "&cursor=x%20y", questions]);
  const notes = () => ["a", "b", "c"].map(handle => inbox.prompts.get(handle).note);
  assert.deepEqual(notes(), ["No worker.", "", "Next: ada."]);

  ms = 59999;
  ticks();
  hidden = true;
  ms = 60000;
  ticks();
  assert.deepEqual(asked, []);
  hidden = false;
  answers.set(first, { items: [row("a"), row("b"), row("c")], pagination: { has_more: false } });
  for (const does of shown) does();
  for (let i = 0; i < 10; i++) await settle();
  assert.deepEqual(asked.splice(0), [first, questions]);
  assert.deepEqual(notes(), ["", "", ""], "the worker is there again");

  stop();
  assert.equal(ticks, null);
  assert.equal(shown.size, 0);
});

test("a row has the most frequent note of its open calls", () => {
  assert.equal(noteOf([]), "");
  assert.equal(noteOf([{ note: "" }, {}]), "");
  assert.equal(noteOf([{ note: "a" }, { note: "b" }, { note: "b" }, { note: "c", resolution: {} }]), "b");
});
