// A decision can wait a few seconds before it is sent, because the service hands it over at once. Until then it can be
// taken back. Nothing is sent from a page that is left.

import { html } from "./vendor/htm-preact-standalone-3.1.1.js";
import { settings } from "./api.js";
import { clock, opens, steady } from "./guard.js";
import { changed } from "./inbox.js";
import { isNarrow } from "./screen.js";
import { say } from "./toast.js";

export const waits = ["0", "3", "5"]; // seconds
export const waitSeconds = () => settings.get("wait", isNarrow() ? "3" : "0");
const mostLate = 10_000; // ms; a computer that slept longer sends nothing
const tickMs = 200;
const suspended = "this page was suspended";

let waiting = null; // {list, words, until, late, send, timer}

const open = () => waiting.list.filter(one => !one.resolution);
const isHeld = one => !one.resolution && !!waiting?.list.includes(one);

function end() {
  const ended = waiting;
  clearInterval(ended.timer);
  for (const one of open()) one.sending = "";
  waiting = null;
  return ended;
}

// hold sends a decision about prompts, after the wait. It sends the one that waits now at once.
export function hold(list, words, send) {
  if (waiting) void end().send();
  const ms = Number(waitSeconds()) * 1000;
  if (!ms || list.length === 0) return send();
  waiting = { list, words, send, until: clock() + ms, late: Date.now() + ms + mostLate, timer: setInterval(tick, tickMs) };
  for (const one of list) one.error = "";
  tick();
}

function tick() {
  const list = open(), left = waiting.until - clock();
  if (list.length === 0) end(); // somebody else was first
  else if (Date.now() > waiting.late) return lapse(suspended);
  else if (left <= 0) return void end().send();
  else {
    const text = `${waiting.words}${list.length > 1 ? ` ${list.length} calls` : ""} in ${Math.ceil(left / 1000)} s`;
    if (list.every(one => one.sending === text)) return;
    for (const one of list) one.sending = text;
  }
  changed();
}

// takeBack takes back the decision that waits.
export function takeBack() {
  if (!waiting) return;
  for (const one of end().list) opens(one.handle);
  changed();
}

// lapse takes it back although nobody asked for that. Its requests say so until they are decided, and a line for those that are
// not open.
function lapse(why) {
  if (!waiting) return;
  const text = `Not sent: ${why}. Decide again.`;
  for (const one of open()) one.error = text;
  takeBack();
  say(text);
}

// leaves says that the person has left the inbox.
export const leaves = () => lapse("you left the inbox");

for (const [left, does] of [["pagehide", leaves], ["freeze", () => lapse(suspended)]]) globalThis.addEventListener?.(left, does, { capture: true });

// Undo stands next to the words of a decision that waits. Where keys do not act it is the button alone.
export function Undo({ one, handle = one.handle, alone = false }) {
  const press = event => { if (steady(handle, event)) takeBack(); };
  if (!isHeld(one)) return null;
  if (alone) return html`<button type="button" class="undo" onClick=${press}>Undo</button>`;
  return html`<span class="dot" aria-hidden="true">·</span><button type="button" class="undo" onClick=${press}>Undo<kbd aria-hidden="true">z</kbd></button><span class="space"></span>`;
}
