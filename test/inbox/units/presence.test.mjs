// When the page says that its person is looking at the list, with tabs and a clock of the test.
import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.addEventListener = () => {};
const { followPresence } = await import(process.env.HOLDPOINT_ASSETS + "/presence.js");

function world() {
  const said = [], opened = [], tabs = [], shares = { on: true };
  let now = 1_800_000_000_000, kept = "";
  const open = () => {
    const tab = { looks: true, viewing: "", later: () => {} };
    followPresence({
      now: () => now, looks: () => tab.looks, get: () => kept,
      say(visible, handle) { said.push(visible); opened.push(handle); },
      viewing: () => tab.viewing, shares: () => shares.on, after(_, call) { tab.later = call; },
      set(_, value) { kept = value; if (!value) for (const other of tabs) if (other !== tab) other.check(); },
      listen: listeners => Object.assign(tab, listeners),
    });
    tabs.push(tab);
    return tab;
  };
  const pass = ms => { for (const until = now + ms; now < until;) { now += 15_000; tabs.forEach(tab => tab.check()); } };
  const opens = (tab, handle) => { tab.viewing = handle; tab.opened(); };
  const hide = tab => { tab.looks = false; tab.check(); };
  return { said, opened, shares, open, opens, pass, hide, show: tab => { tab.looks = true; tab.check(); } };
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

test("the request that is open is said once it stays open, and again with the rest", () => {
  const w = world(), tab = w.open();
  w.opens(tab, "h1");
  tab.later();
  assert.deepEqual(w.opened, [], "nobody has touched the page");
  tab.touched();
  assert.deepEqual(w.opened.splice(0), ["h1"]);
  for (const handle of ["h2", "h3", "h4"]) w.opens(tab, handle);
  assert.deepEqual(w.opened, [], "none of them has stayed open");
  tab.later();
  assert.deepEqual(w.opened.splice(0), ["h4"]);
  tab.later();
  w.pass(60_000);
  assert.deepEqual(w.opened.splice(0), ["h4"], "once a minute");
  w.opens(tab, "");
  tab.later();
  assert.deepEqual(w.opened.splice(0), [""], "it was decided, or left");
  w.opens(tab, "h5");
  w.hide(tab);
  tab.later();
  assert.deepEqual(w.opened.splice(0), [undefined], "nothing is open at a hidden page");
  w.show(tab);
  assert.deepEqual(w.opened.splice(0), [undefined], "not at once when it is looked at again");
  tab.later();
  assert.deepEqual(w.opened.splice(0), ["h5"]);
});

test("a person who does not share it is there without it", () => {
  const w = world(), tab = w.open();
  w.opens(tab, "h1");
  tab.later();
  tab.touched();
  w.shares.on = false;
  w.pass(15_000);
  w.opens(tab, "h2");
  tab.later();
  w.pass(60_000);
  assert.deepEqual(w.opened.splice(0), ["h1", "", undefined], "taken back, and not said again");
});

test("two tabs that have different requests open do not take turns", () => {
  const w = world(), one = w.open(), other = w.open();
  for (const [tab, handle] of [[one, "h1"], [other, "h2"]]) { w.opens(tab, handle); tab.later(); tab.touched(); }
  assert.deepEqual(w.opened.splice(0), ["h1", "h2"]);
  w.pass(60_000);
  assert.equal(w.opened.splice(0).length, 1, "one of them, once a minute");
});
