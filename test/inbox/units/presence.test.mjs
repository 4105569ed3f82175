// When the page says that its person is looking at the list, with tabs and a clock of the test.
import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.addEventListener = () => {};
const { followPresence } = await import(process.env.HOLDPOINT_ASSETS + "/presence.js");

function world() {
  const said = [], tabs = [];
  let now = 1_800_000_000_000, kept = "";
  const open = () => {
    const tab = { looks: true };
    followPresence({
      now: () => now, looks: () => tab.looks, say: visible => said.push(visible), get: () => kept,
      set(_, value) { kept = value; if (!value) for (const other of tabs) if (other !== tab) other.check(); },
      listen: listeners => Object.assign(tab, listeners),
    });
    tabs.push(tab);
    return tab;
  };
  const pass = ms => { for (const until = now + ms; now < until;) { now += 15_000; tabs.forEach(tab => tab.check()); } };
  const hide = tab => { tab.looks = false; tab.check(); };
  return { said, open, pass, hide, show: tab => { tab.looks = true; tab.check(); } };
}

test("it is said once a minute while the page is in use, and taken back when it is hidden", () => {
  const w = world(), tab = w.open();
  w.pass(60_000);
  assert.deepEqual(w.said, [], "nobody has touched it");
  tab.touched();
  tab.touched();
  assert.deepEqual(w.said, [true]);
  w.pass(120_000);
  assert.deepEqual(w.said, [true, true, true]);
  w.hide(tab);
  tab.leave();
  assert.deepEqual(w.said.splice(0), [true, true, true, false], "once, although it is hidden and left");
  tab.touched();
  w.pass(120_000);
  assert.deepEqual(w.said, [], "nothing of a hidden page");
  w.show(tab);
  assert.deepEqual(w.said, [true], "its last touch still counts");
});

test("a page at which nobody sits says nothing", () => {
  const w = world(), tab = w.open();
  tab.touched();
  w.pass(3_600_000);
  assert.deepEqual(w.said.splice(0), [true, true, true, true, true], "for five minutes after the last touch");
  tab.touched();
  assert.deepEqual(w.said, [true]);
});

test("the tabs of a browser say it once, and again when one is left and another is not", () => {
  const w = world(), one = w.open(), other = w.open(), idle = w.open();
  one.touched();
  other.touched();
  w.pass(45_000);
  assert.deepEqual(w.said.splice(0), [true]);
  w.hide(idle);
  assert.deepEqual(w.said, [], "it was never used");
  w.hide(one);
  assert.deepEqual(w.said.splice(0), [false, true], "the other tab says it again");
  w.hide(other);
  assert.deepEqual(w.said, [false]);
});
