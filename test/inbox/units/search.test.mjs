// Words in long inputs, of which a list has the beginning only.
import assert from "node:assert/strict";
import { test } from "node:test";

const { hasAll, inPart, keepWhole, readWhole, wordsOf } = await import(`${process.env.HOLDPOINT_ASSETS}/search.js`);
const long = (handle, text, input_bytes = 9000) => ({ handle, text, request: { input_truncated: true, input_bytes } });

test("only long inputs without all words were searched in part", () => {
  const list = [long("a", "make the beginning"), long("b", "make needle"), { handle: "c", text: "make", request: {} }];
  assert.deepEqual(inPart(list, wordsOf("MAKE needle")).map(({ handle }) => handle), ["a"]);
  assert.deepEqual(inPart(list, []), []);
});

test("a word may stand in the beginning and another in the rest", async () => {
  const one = long("d", "make the beginning");
  await readWhole([one], async () => '{"command":"… The NEEDLE"}');
  assert.ok(hasAll(one, wordsOf("beginning needle")));
  assert.ok(!hasAll(one, wordsOf("beginning other")));
  assert.deepEqual(inPart([one], wordsOf("other")), [], "it was searched whole");
});

test("one press reads so many, and so much", async () => {
  const asked = [], read = async handle => { asked.push(handle); return "x"; };
  await readWhole(Array.from({ length: 250 }, (_, i) => long("many-" + i, "")), read);
  assert.equal(asked.splice(0).length, 200);
  await readWhole([long("huge-1", "", 20 << 20), long("huge-2", "", 1)], read);
  assert.deepEqual(asked.splice(0), ["huge-1"], "one is read whatever its size");
  await readWhole([long("big-1", "", 10 << 20), long("big-2", "", 5 << 20), long("big-3", "", 5 << 20)], read);
  assert.deepEqual(asked, ["big-1", "big-2"]);
});

test("a failure ends it, and what was read stays", async () => {
  const list = Array.from({ length: 20 }, (_, i) => long("failing-" + i, "")), asked = [];
  await assert.rejects(readWhole(list, async handle => { asked.push(handle); if (asked.length > 5) throw new Error("no answer"); return "needle"; }), /no answer/);
  assert.ok(asked.length < 10, "the others are not asked for");
  assert.equal(list.filter(one => hasAll(one, ["needle"])).length, 5);
});

test("one that is gone is not asked for again", async () => {
  const one = long("gone", "");
  await readWhole([one], async () => undefined);
  assert.deepEqual(inPart([one], ["needle"]), []);
});

test("what is kept has a limit, and the oldest goes first", () => {
  const half = "y".repeat(33 << 20), [first, second] = [long("first", ""), long("second", "")];
  keepWhole("first", half + "first");
  keepWhole("second", half + "second");
  assert.deepEqual([hasAll(first, ["first"]), hasAll(second, ["second"])], [false, true]);
});

test("a text is looked through once for the same words", () => {
  let looked = 0;
  const one = { handle: "once", request: {}, text: { includes: word => { looked++; return word === "make"; } } };
  for (let i = 0; i < 5; i++) { assert.ok(hasAll(one, wordsOf("Make"))); assert.ok(hasAll(one, wordsOf(""))); }
  assert.equal(looked, 1);
  assert.ok(!hasAll(one, wordsOf("make needle")));
  keepWhole("once", "needle");
  assert.ok(hasAll(one, wordsOf("make needle")), "its rest was read meanwhile");
  assert.ok(!hasAll(one, wordsOf("thread")));
});
