// Decisions that were made after the history was read.
import assert from "node:assert/strict";
import { test } from "node:test";

const { nothingRead, withFresh, withNewest } = await import(`${process.env.HOLDPOINT_ASSETS}/newest.js`);
const of = (...handles) => handles.map(handle => ({ handle }));
const names = list => list.map(({ handle }) => handle).join("");
const read = { ...nothingRead("outcome=denied"), items: of("d", "c", "b"), cursor: "after-b", more: true };

test("what is new waits, the newest first, and the list stays as it is", () => {
  const first = withNewest(read, { items: of("e", "d", "c"), cursor: "x", more: true });
  assert.deepEqual([names(first.fresh), names(first.items), first.cursor, first.missed], ["e", "dcb", "after-b", false]);
  const second = withNewest(first, { items: of("f", "e", "d"), cursor: "x", more: true });
  assert.deepEqual([names(second.fresh), names(second.items)], ["fe", "dcb"]);
  assert.equal(withNewest(second, { items: of("f", "e", "d"), cursor: "x", more: true }), second, "nothing is drawn again for nothing");
  const shown = withFresh(second);
  assert.deepEqual([names(shown.fresh), names(shown.items), shown.cursor], ["", "fedcb", "after-b"]);
  assert.equal(withFresh(shown), shown);
});

test("a list in which others were missed is read anew", () => {
  const missed = withNewest(read, { items: of("i", "h", "g"), cursor: "after-g", more: true });
  assert.equal(missed.missed, true);
  assert.deepEqual(withFresh(missed), nothingRead("outcome=denied"));
  assert.equal(withNewest(read, { items: of("i", "h", "d"), cursor: "after-d", more: true }).missed, false);
  assert.equal(withNewest({ ...read, items: of("a"), more: false }, { items: of("c", "b"), cursor: "", more: false }).missed, false, "the page has all that there are");
});

test("what waits has a limit", () => {
  let now = read;
  for (let i = 0; i < 1200; i += 50) now = withNewest(now, { items: [...Array.from({ length: 50 }, (_, n) => ({ handle: `${i + 49 - n}` })), ...now.fresh.slice(0, 1)], cursor: "x", more: true });
  assert.equal(now.fresh.length, 1000);
  assert.equal(now.missed, true);
});

test("where nothing was there, nothing can move", () => {
  const now = withNewest({ ...nothingRead(""), more: false }, { items: of("a"), cursor: "", more: false });
  assert.deepEqual([names(now.items), names(now.fresh)], ["a", ""]);
});
