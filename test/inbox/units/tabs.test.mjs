// Tabs share one stream, on a bus and a clock that the test moves.
import assert from "node:assert/strict";
import { test } from "node:test";

const { shareStream } = await import(process.env.HOLDPOINT_ASSETS + "/tabs.js");

function world() {
  let now = 0, ids = 0;
  const timers = new Map(), channels = new Set(), tabs = [], queue = [];
  const deliver = () => { while (queue.length) { const [channel, data] = queue.shift(); if (channels.has(channel)) channel.onmessage?.({ data }); } };
  const open = ({ visible = true } = {}) => {
    const tab = { frames: [], resyncs: 0, closes: 0, stream: null, visible, frozen: false };
    const env = {
      id: () => String(++ids).padStart(4, "0"),
      channel: () => {
        const channel = { postMessage(data) { for (const other of channels) if (other !== channel) queue.push([other, structuredClone(data)]); }, close() { channels.delete(channel); } };
        channels.add(channel);
        tab.channel = channel;
        return channel;
      },
      now: () => now, random: () => 0.5, visible: () => tab.visible,
      after: (ms, then) => { const id = {}; timers.set(id, { at: now + ms, then, tab }); return id; },
      clear: id => timers.delete(id),
      listen: listeners => { Object.assign(tab, listeners); return () => {}; },
    };
    tab.shared = shareStream((on, signal) => { const stream = { on, signal }; tab.stream = stream; signal.addEventListener("abort", () => { if (tab.stream === stream) tab.stream = null; }); },
      { frame: (name, text) => tab.frames.push(name + text), closed: () => tab.closes++, resync: () => tab.resyncs++ }, env);
    tabs.push(tab);
    deliver();
    return tab;
  };
  const pass = ms => {
    for (const until = now + ms; ;) {
      const next = [...timers].filter(([, one]) => one.at <= until && !one.tab.frozen && !one.tab.gone).sort((a, b) => a[1].at - b[1].at)[0];
      if (!next) { now = until; return; }
      timers.delete(next[0]);
      now = Math.max(now, next[1].at);
      next[1].then();
      deliver();
    }
  };
  const say = (tab, name, text = "") => { tab.stream?.on.frame(name, text); deliver(); };
  // live has the leader hear the service every 5 s, as it says something then.
  const live = ms => { for (let at = 0; at < ms; at += 5000) { for (const tab of tabs) if (!tab.gone && !tab.frozen) say(tab, tab.stream && !tab.begun ? (tab.begun = true, "snapshot") : "keepalive"); pass(5000); } };
  const close = tab => { tab.leave(); tab.gone = true; tab.stream = null; channels.delete(tab.channel); deliver(); };
  const crash = tab => { tab.gone = true; tab.stream = null; channels.delete(tab.channel); };
  const streams = () => tabs.filter(one => one.stream && !one.gone).length;
  return { open, pass, say, live, close, crash, deliver, streams, tabs };
}

test("twelve tabs hold one stream, and all hear what is said", () => {
  const w = world(), tabs = [];
  for (let n = 0; n < 12; n++) { tabs.push(w.open()); w.live(5000); }
  assert.equal(w.streams(), 1);
  for (const tab of tabs.slice(1)) assert.ok(tab.resyncs > 0, "one that joins reads what is open");
  const leader = tabs.find(one => one.stream);
  w.say(leader, "event", "x");
  for (const tab of tabs) assert.equal(tab.frames.filter(one => one === "eventx").length, 1);
});

test("when the leader closes or dies another one leads within 12 s", () => {
  for (const how of ["close", "crash"]) {
    const w = world(), tabs = [w.open(), w.open(), w.open()];
    w.live(10000);
    const leader = tabs.find(one => one.stream);
    w[how](leader);
    w.pass(how === "close" ? 2000 : 10000);
    const next = tabs.find(one => !one.gone && one.stream);
    assert.ok(next, how);
    w.say(next, "snapshot", how);
    w.live(10000);
    assert.equal(w.streams(), 1, how);
    for (const tab of tabs) if (!tab.gone) assert.ok(tab.frames.includes("snapshot" + how) || tab.resyncs > 1);
  }
});

test("one that missed something reads again", () => {
  const w = world(), a = w.open();
  w.live(5000);
  const b = w.open();
  w.live(5000);
  const [leader, other] = a.stream ? [a, b] : [b, a], before = other.resyncs, listens = other.channel.onmessage;
  other.channel.onmessage = null;
  w.say(leader, "event", "lost");
  other.channel.onmessage = listens;
  w.say(leader, "keepalive");
  assert.equal(other.resyncs, before + 1);
});

test("a tab that opens later hears who has which request open", () => {
  const w = world(), a = w.open();
  w.live(5000);
  w.say(a, "viewing", "of ben");
  const b = w.open();
  w.live(5000);
  assert.ok(b.frames.includes("viewingof ben"));
  w.say(a.stream ? a : b, "snapshot", "again");
  const c = w.open();
  w.live(5000);
  assert.ok(!c.frames.some(frame => frame.startsWith("viewing")), "a snapshot ends it");
});

test("a leader that was frozen steps back", () => {
  const w = world(), a = w.open(), b = w.open();
  w.live(10000);
  const [leader, other] = a.stream ? [a, b] : [b, a], listens = leader.channel.onmessage;
  leader.frozen = true;
  leader.channel.onmessage = null;
  w.pass(12000);
  w.say(other, "snapshot", "again");
  leader.frozen = false;
  leader.channel.onmessage = listens;
  w.live(10000);
  assert.equal(w.streams(), 1);
  assert.ok(leader.frames.includes("snapshotagain") || leader.resyncs > 0);
});

test("the tab that is looked at leads", () => {
  const w = world(), a = w.open();
  w.live(5000);
  a.visible = false;
  const b = w.open();
  w.live(15000);
  assert.ok(b.stream);
  assert.equal(w.streams(), 1);
});

test("a tab that leads gives up its stream when another one signs in or out", () => {
  const w = world(), first = w.open();
  w.live(5000);
  const second = w.open(), { stream } = first;
  w.live(5000);
  assert.ok(stream && first.stream === stream);
  second.shared.signal("account");
  w.deliver();
  assert.notEqual(first.stream, stream, "it was opened as another account, and a tab that shows a secret does not load again");
  w.live(20000);
  assert.equal(w.streams(), 1);
});
