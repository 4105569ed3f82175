// When a press counts, on a clock that the test moves.
import assert from "node:assert/strict";
import { test } from "node:test";

let now = 10_000;
performance.now = () => now;
globalThis.requestAnimationFrame = then => { then(); return 0; };
const guard = await import(process.env.HOLDPOINT_ASSETS + "/guard.js");
const { cover, covers, textOf } = await import(process.env.HOLDPOINT_ASSETS + "/seen.js");

const pointer = { type: "click", detail: 1 }, reader = { type: "click", detail: 0 }, key = { type: "keydown", key: "a" };

test("what moved takes no click for 600 ms, and no decision is followed by one within 300 ms", () => {
  assert.ok(guard.steady("a", pointer));
  guard.shifted("a");
  assert.ok(!guard.steady("a", pointer));
  assert.ok(guard.steady("b", pointer));
  assert.ok(guard.steady("a", reader), "assistive technology aims at an element, not at a place");
  now += 599;
  assert.ok(!guard.steady("a", pointer));
  now += 1;
  assert.ok(guard.steady("a", pointer));
  guard.decided();
  for (const press of [pointer, reader, key]) assert.ok(!guard.steady("b", press));
  now += 300;
  for (const press of [pointer, reader, key]) assert.ok(guard.steady("b", press));
  assert.ok(!guard.steady("b", { ...key, repeat: true }));
  guard.focusedByKey();
  assert.ok(!guard.steady("b", key));
  now += 200;
  assert.ok(guard.steady("b", key));
});

test("the person's own act is no surprise", () => {
  guard.act("c");
  guard.resized("c");
  assert.ok(guard.steady("c", pointer));
  now += 200;
  guard.resized("c");
  assert.ok(!guard.steady("c", pointer));
});

test("letters that are typed on after a field was lost are no keys", () => {
  const field = { matches: () => true }, card = { matches: () => false };
  const drops = (event, target) => { guard.noteKey({ ...event, target }); return guard.dropsKey(event, target); };
  guard.noteFocus(field);
  assert.ok(!drops({ key: "w" }, field));
  assert.ok(guard.dropsKey({ key: "a" }, card));
  now += 900;
  assert.ok(guard.dropsKey({ key: "i" }, card), "and typing on goes on");
  now += 900;
  assert.ok(guard.dropsKey({ key: "t" }, card));
  now += 1001;
  assert.ok(!guard.dropsKey({ key: "a" }, card));
  guard.noteFocus(field);
  drops({ key: "Escape" }, field);
  assert.ok(!guard.dropsKey({ key: "a" }, card), "Escape leaves it on purpose");
  guard.noteFocus(field);
  drops({ key: "Enter", isComposing: true }, field);
  assert.ok(guard.dropsKey({ key: "a" }, card), "Enter of an input method does not");
  now += 1001;
  guard.noteFocus(field);
  drops({ key: "Enter", keyCode: 229 }, field);
  assert.ok(guard.dropsKey({ key: "a" }, card));
  now += 1001;
});

test("a key that closes the form of a field leaves the field, and one that comes later does not", () => {
  const field = { matches: selector => selector.includes("textarea") }, card = { matches: () => false };
  for (const [last, target, drops] of [["Escape", field, false], ["k", field, true], ["Escape", card, true]]) {
    now += 5000;
    guard.noteFocus(field);
    guard.noteKey({ key: "d", target: field });
    guard.noteKey({ key: last, target });
    guard.noteFocus(card);
    assert.equal(guard.dropsKey({ key: "r" }, card), drops, last);
  }
});

test("what was in view is a list of ranges", () => {
  let ranges = cover([], 0, 100);
  ranges = cover(ranges, 300, 400);
  assert.ok(!covers(ranges, 400));
  ranges = cover(ranges, 90, 301);
  assert.ok(covers(ranges, 400));
});

test("what was read in one session is read in another, unless something that is said differs", () => {
  const one = { kind: "approval", digest: "d", request: { id: "a", handle: "h", tool_name: "bash", reason: "tidy up", created_at_ms: 1, metadata: { call: 1 } } };
  const other = said => ({ ...one, request: { ...one.request, id: "b", handle: "i", created_at_ms: 2, metadata: { call: 2 }, ...said } });
  assert.equal(textOf(other({ description: "" })), textOf(one));
  for (const said of [{ tool_name: "sh" }, { reason: "deploy" }, { hints: [{ level: "danger", text: "x" }] }, { input_schema: { title: "x" } }, { new_member: "x" }]) assert.notEqual(textOf(other(said)), textOf(one), JSON.stringify(said));
  assert.notEqual(textOf({ ...other(), digest: "e" }), textOf(one));
  assert.ok(!textOf({ ...one, kind: "question" }));
});
