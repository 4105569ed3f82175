// When a prompt was read: only what was on the screen counts.
import assert from "node:assert/strict";
import { test } from "node:test";

let now = 1000;
performance.now = () => now;
globalThis.document = { querySelector: () => null, getElementById: () => null };
const { cover, covers, isSeen, leave, look, nextUnread, readsToEnd } = await import(process.env.HOLDPOINT_ASSETS + "/seen.js");

// screen is a box of 300 pixels with parts of a prompt, each {height, kind}; scrolled by so many pixels.
function screen(parts, scrolled = 0) {
  let top = -scrolled;
  const list = parts.map(({ height, kind = "whole" }) => {
    const from = top;
    top += height;
    return { dataset: { part: kind }, getBoundingClientRect: () => ({ top: from, bottom: from + height, height }) };
  });
  return { clientWidth: 600, closest: () => ({ getBoundingClientRect: () => ({ top: 0, bottom: 300 }) }), querySelectorAll: () => list };
}
let handles = 0;
const prompt = (more = {}) => { const handle = `h-${++handles}`; return { kind: "approval", handle, digest: `sha256:${handle}`, request: { tool_name: "x", ...more } }; };

test("a short prompt has its button before it is painted, and is read half a second after", () => {
  const one = prompt(), asked = screen([{ height: 200 }]);
  look(one, asked, false);
  assert.equal(readsToEnd(one), true);
  now += 1000;
  look(one, asked, false);
  assert.equal(isSeen(one), false, "it was not on the screen");
  look(one, asked, true);
  now += 499;
  look(one, asked, true);
  assert.equal(isSeen(one), false);
  now += 1;
  look(one, asked, false);
  assert.equal(isSeen(one), true);
});

test("what is open in a tab that nobody looks at is not read", () => {
  const one = prompt(), other = prompt(), asked = screen([{ height: 200 }]), looks = (on, at = one) => { document.hidden = !on; look(at, asked, true); };
  looks(false);
  now += 1000;
  looks(false);
  assert.equal(isSeen(one), false);
  assert.equal(readsToEnd(one), true, "its button stands there when the person comes");
  looks(true);
  now += 100;
  looks(false);
  now += 1000;
  looks(true);
  assert.equal(isSeen(one), false, "a tenth of a second");
  now += 500;
  looks(true);
  assert.equal(isSeen(one), true);
  looks(true, other);
  now += 1000;
  document.hidden = true;
  leave(other);
  document.hidden = false;
  assert.equal(isSeen(other), false, "nobody knows since when the tab is hidden");
});

test("a prompt that was left before it was painted was not read", () => {
  const one = prompt();
  look(one, screen([{ height: 200 }]), false);
  now += 1000;
  leave(one);
  assert.equal(isSeen(one), false);
});

test("the layouts before a text is folded, and before it is scrolled, do not count", () => {
  const one = prompt(), unfolded = at => screen([{ height: 50 }, { height: 1000 }], at);
  look(one, unfolded(0), false); // in view down to 250
  look(one, screen([{ height: 50 }, { height: 150, kind: "folded" }]), false);
  look(one, screen([{ height: 50 }, { height: 150, kind: "folded" }]), true);
  look(one, unfolded(0), false); // unfolded, and not scrolled yet
  assert.equal(nextUnread(one, unfolded(0)).from, 150);
  for (const at of [200, 500, 750]) look(one, unfolded(at), true);
  assert.equal(readsToEnd(one), true);
});

test("the beginning of an input is not a part of the whole one", () => {
  const one = prompt({ input_truncated: true });
  look(one, screen([{ height: 250, kind: "folded" }]), true);
  one.request.input_truncated = false;
  const whole = screen([{ height: 40 }, { height: 1000 }]);
  look(one, whole, false);
  assert.equal(nextUnread(one, whole).from, 0);
  look(one, screen([{ height: 40 }, { height: 1000 }], 740), true);
  assert.equal(readsToEnd(one), false);
});

test("ranges that touch are one", () => {
  assert.deepEqual(cover([[0, 10], [20, 30]], 10, 20), [[0, 30]]);
  assert.equal(covers([[0, 10], [20, 30]], 30), false);
  assert.equal(covers([[1, 29]], 30), true);
});
