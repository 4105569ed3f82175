// A list that is read page by page while the person begins to act on it.
import assert from "node:assert/strict";
import { test } from "node:test";

const settle = async () => { for (let i = 0; i < 5; i++) await new Promise(done => setImmediate(done)); };
const listeners = {};
let channel, answer;
globalThis.sessionStorage = globalThis.localStorage = { getItem: () => null };
globalThis.document = { visibilityState: "visible", addEventListener() {}, removeEventListener() {}, querySelector: () => inbox.loaded };
globalThis.addEventListener = (type, listener) => { listeners[type] = listener; };
globalThis.removeEventListener = () => {};
globalThis.BroadcastChannel = class { constructor() { channel = this; } postMessage() {} close() {} };
globalThis.setTimeout = globalThis.clearTimeout = () => {};
globalThis.fetch = path => new Promise(done => { if (!path.startsWith("/v1/stream")) answer = body => { done({ ok: true, status: 200, text: async () => JSON.stringify(body) }); return settle(); }; });

const { inbox, showFresh, start } = await import(process.env.HOLDPOINT_ASSETS + "/inbox.js");
const item = (id, created_at_ms) => ({ session_id: "s-" + id, run_id: "r", agent_id: "a", request: { id, handle: id, tool_name: "Bash", created_at_ms } });
const page = (items, next_cursor) => ({ items, pagination: { has_more: !!next_cursor, next_cursor } });
const on = selector => ({ closest: wanted => wanted.includes(selector) ? {} : null });

test("a list that is still read is put in order until the person acts on it, and then holds still", async () => {
  start();
  listeners.keydown({ target: on("main") });
  channel.onmessage({ data: { from: "0", type: "here", term: 1, n: 5, visible: true } });
  await settle();
  await answer(page([item("c", 3)], "2"));
  await answer(page([item("b", 2)], "3"));
  assert.deepEqual(inbox.order, ["b", "c"], "a key before there was a list is no act on it");
  listeners.keydown({ target: on("input") });
  listeners.pointermove({ target: on(".rows"), movementX: 0, movementY: 0 });
  listeners.pointerdown({ target: on("header") });
  await answer(page([item("a", 1)], "4"));
  assert.deepEqual(inbox.order, ["a", "b", "c"], "nor are a search, a pointer at rest, and a press elsewhere");
  listeners.pointermove({ target: on(".rows"), movementX: 1, movementY: 0 });
  await answer(page([item("0", 0), item("9", 9)]));
  await answer(page([]));
  assert.equal(inbox.complete, true);
  assert.deepEqual([inbox.order, inbox.fresh], [["a", "b", "c"], ["0", "9"]]);
  showFresh();
  assert.deepEqual(inbox.order, ["0", "a", "b", "c", "9"]);
});
