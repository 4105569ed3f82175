// The lists of what is open, page by page.
import assert from "node:assert/strict";
import { test } from "node:test";

const settle = async () => { for (let i = 0; i < 5; i++) await new Promise(done => setImmediate(done)); };
const asked = [], timers = [];
let channel, n = 0;
globalThis.sessionStorage = { getItem: () => null };
globalThis.localStorage = { getItem: () => null };
globalThis.document = { visibilityState: "visible", addEventListener() {}, removeEventListener() {} };
globalThis.addEventListener = globalThis.removeEventListener = () => {};
globalThis.BroadcastChannel = class { constructor() { channel = this; } postMessage() {} close() {} };
globalThis.setTimeout = (does, ms) => timers.push({ does, ms });
globalThis.clearTimeout = () => {};
globalThis.fetch = path => new Promise(answer => asked.push({ path, answer: (body, status = 200) => { answer({ ok: status < 300, status, text: async () => JSON.stringify(body) }); return settle(); } }));

const { acknowledged, arrange, clearSettled, inbox, lookUp, onArrival, putOff, settle: settles, start, wake } = await import(process.env.HOLDPOINT_ASSETS + "/inbox.js");
const item = (id, created_at_ms) => ({ session_id: "s-" + id, run_id: "r", agent_id: "a", request: { id, handle: id, tool_name: "Bash", created_at_ms } });
const page = (items, next_cursor) => ({ items, pagination: { has_more: !!next_cursor, next_cursor } });
// Another tab has the stream, and this one has missed a part of it.
const missed = async () => { channel.onmessage({ data: { from: "0", type: "here", term: 1, n: n += 5, visible: true } }); await settle(); };
const lists = () => asked.filter(({ path }) => !path.startsWith("/v1/stream")).map(({ path }) => path.replace("page=true&limit=100&fields=summary", "…"));
const answer = (...args) => asked.findLast(({ path }) => !path.startsWith("/v1/stream")).answer(...args);

test("each page is shown when it comes, and all of them in order", async () => {
  let arrived = 0;
  onArrival(() => { arrived++; });
  start();
  await missed();
  await answer(page([]));
  assert.deepEqual([inbox.loaded, lists().length], [false, 2], "there may be questions");
  asked.length = 0;
  await missed();
  await answer(page([item("b", 2), item("c", 3)], "2"));
  assert.deepEqual([inbox.loaded, inbox.complete, inbox.order], [true, false, ["b", "c"]]);
  await answer({ title: "too many calls" }, 429);
  assert.equal(lists().length, 2, "not at once again");
  timers.findLast(({ ms }) => ms === 1000).does();
  await settle();
  await answer(page([item("a", 1)], "3"));
  // Something else reads the lists before this is at its end: that is still the beginning.
  await missed();
  await answer(page([item("a", 1), item("d", 4)]));
  assert.equal(inbox.complete, false, "there are questions, too");
  await answer(page([]));
  assert.deepEqual(lists(), ["/v1/approvals?…", "/v1/approvals?…&cursor=2", "/v1/approvals?…&cursor=2", "/v1/approvals?…&cursor=3", "/v1/approvals?…", "/v1/questions?…", "/v1/requests/b", "/v1/requests/c"]);
  assert.deepEqual([inbox.complete, inbox.order, arrived], [true, ["a", "b", "c", "d"], 0], "nobody is told of what was there");
  await missed();
  await answer(page([item("e", 0)]));
  assert.deepEqual([inbox.order.at(-1), arrived], ["e", 1], "what comes later is new");
});

test("a reply that was asked for before somebody looked does not say that nobody does", async () => {
  const one = inbox.prompts.get("a"), others = [{ by: "user:ada", until_ms: Infinity }];
  void lookUp("a");
  const looked = asked.at(-1);
  await missed();
  const listed = asked.at(-1);
  one.looking = others;
  acknowledged(one);
  await looked.answer({ request: { id: "a" } });
  await listed.answer(page([item("a", 1)]));
  assert.equal(one.looking, others);
  void lookUp("a");
  await asked.at(-1).answer({ request: { id: "a" } });
  assert.equal(one.looking, undefined, "a later one does");
});

test("a list that was asked for before a prompt was put off, or woken, does not undo that", async () => {
  const one = inbox.prompts.get("a"), until = Date.now() + 3_600_000, list = snoozed => page([{ ...item("a", 1), ...(snoozed && { snoozed_until_ms: until }) }]);
  const asks = async () => { await missed(); return asked.at(-1); };
  const before = await asks();
  acknowledged(one);
  putOff(one, until);
  await before.answer(list(false));
  assert.equal(one.snoozedUntilMs, until);
  const between = await asks();
  acknowledged(one);
  wake(one);
  await between.answer(list(true));
  assert.equal(one.snoozedUntilMs, 0);
  await (await asks()).answer(list(true));
  assert.equal(one.snoozedUntilMs, until, "a later one does");
  await (await asks()).answer(list(false));
  assert.equal(one.snoozedUntilMs, 0);
});

test("a colleague's acknowledgement does not hide that a prompt was put off elsewhere", async () => {
  const one = inbox.prompts.get("a"), until = Date.now() + 3_600_000;
  await missed();
  const listed = asked.at(-1), event = { type: "request_acknowledged", request_id: "a", state: "acknowledged", by: "user:ben", until_ms: until };
  channel.onmessage({ data: { from: "0", type: "frame", name: "event", text: JSON.stringify({ session_id: "s-a", agent_id: "a", run_id: "r", event }), term: 1, n: ++n, visible: true } });
  await settle();
  one.looking = [{ by: "user:ben", until_ms: until }];
  await listed.answer(page([{ ...item("a", 1), snoozed_until_ms: until }]));
  assert.deepEqual([one.snoozedUntilMs, one.looking.length], [until, 1]);
  wake(one);
});

test("a question that an event brings is looked up until it is known whose it is", async () => {
  const data = { session_id: "child", agent_id: "a", run_id: "r", event: { type: "waiting_for_user_question", requests: [{ id: "whose", handle: "whose", questions: [] }] } };
  channel.onmessage({ data: { from: "0", type: "frame", name: "event", text: JSON.stringify(data), term: 1, n: ++n, visible: true } });
  await settle();
  const looked = () => asked.filter(({ path }) => path === "/v1/requests/whose");
  assert.equal(looked().length, 1);
  timers.length = 0;
  await looked()[0].answer({ title: "too many calls" }, 429);
  timers.find(({ ms }) => ms === 1000)?.does();
  await settle();
  assert.equal(looked().length, 2);
  await looked()[1].answer({ request: { id: "whose" }, requester_session_id: "child" });
  assert.equal(inbox.prompts.get("whose").requester, "child");
});

test("what is no longer listed is looked up until its outcome is known", async () => {
  await missed();
  await answer(page([item("x", 1), item("y", 2), item("z", 3)]));
  await answer(page([]));
  timers.length = asked.length = 0;
  await missed();
  await answer(page([]));
  await answer(page([]));
  const of = handle => asked.filter(({ path }) => path === `/v1/requests/${handle}`), looked = handle => of(handle).length;
  const waiting = ms => timers.splice(0).filter(one => one.ms === ms); // the tabs have timers of their own
  const over = async pauses => { pauses.forEach(one => one.does()); await settle(); };
  await of("x")[0].answer({ title: "too many calls" }, 429);
  await of("y")[0].answer({ title: "busy" }, 503);
  await of("z")[0].answer({ title: "forbidden" }, 403);
  const open = handle => !inbox.prompts.get(handle).resolution;
  assert.deepEqual(["x", "y", "z"].map(open), [true, true, true]);
  await over(waiting(1000));
  assert.deepEqual(["x", "y", "z"].map(looked), [2, 2, 1], "a refusal is not repeated");
  await of("x")[1].answer({ request: { id: "x" }, resolution: { request_id: "x", outcome: "allowed", resolved_at_ms: 1, resolved_by: "user:ada", via: "api" } });
  await of("y")[1].answer({ title: "busy" }, 503);
  assert.deepEqual(["x", "y", "z"].map(open), [false, true, true]);
  // The next list asks at once, and what still waits from before does not.
  const before = waiting(2000);
  assert.equal(before.length, 1);
  await missed();
  await answer(page([]));
  await answer(page([]));
  assert.deepEqual(["x", "y", "z"].map(looked), [2, 3, 2]);
  await over(before);
  assert.equal(looked("y"), 3);
  await of("y")[2].answer({}, 404);
  assert.equal(open("y"), true, "a gateway does not know what became of it");
  await over(waiting(1000));
  await of("z")[1].answer({ title: "who?" }, 401);
  assert.equal(waiting(1000).length, 0);
  await of("y")[3].answer({ title: "gone", code: "request_not_found" }, 404);
  assert.equal(open("y"), false);
});

test("an order that the address makes up is the usual one", () => {
  for (const order of ["__proto__", "constructor", "up"]) assert.doesNotThrow(() => arrange(order), order);
});

test("a request that is open stays on the page with what was typed, however many are settled after it", async () => {
  const many = Array.from({ length: 1010 }, (_, i) => `m${i}`), is = handle => inbox.prompts.has(handle), over = { outcome: "denied", resolved_at_ms: 1, resolved_by: "user:ada", via: "api" };
  await missed();
  await answer(page(many.map(item)));
  await answer(page([]));
  document.getElementById = id => id === "detail" ? { dataset: { handle: "m0" } } : null;
  for (const handle of many) settles(handle, over);
  assert.deepEqual(["m0", "m1", "m1009"].map(is), [true, false, true]);
  clearSettled();
  assert.deepEqual(["m0", "m900", "m1009"].map(is), [true, false, true]);
  document.getElementById = () => null;
  clearSettled();
  assert.equal(is("m0"), false);
});
