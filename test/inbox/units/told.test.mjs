// What tells a person who looks elsewhere: a tone for each kind, and the number at the icon of the page.
import assert from "node:assert/strict";
import { test } from "node:test";

const settings = { "holdpoint.sound": "on" }, timers = [], tones = [];
let open = 0;
globalThis.localStorage = { getItem: name => settings[name] ?? null };
globalThis.sessionStorage = { getItem: () => null };
globalThis.setTimeout = does => { timers.push(does); };
globalThis.setInterval = () => {};
globalThis.matchMedia = () => ({ addEventListener() {} });
globalThis.location = { pathname: "/", search: "" };
globalThis.addEventListener = () => {};
globalThis.document = { visibilityState: "visible", hasFocus: () => false, addEventListener() {} };
globalThis.AudioContext = class {
  currentTime = 0;
  destination = {};
  constructor() { open++; }
  createOscillator() { const tone = { frequency: {}, connect: next => next, start() { tones.push(tone.frequency.value); }, stop() {} }; return tone; }
  createGain() { return { gain: {}, connect: next => next }; }
  async close() { open--; }
};
const { tell } = await import(process.env.HOLDPOINT_ASSETS + "/told.js");
const arrives = kind => tell({ kind, handle: "h", request: {} });

test("an approval and a question have tones of their own, and leave nothing behind in the browser", () => {
  arrives("approval");
  arrives("question");
  assert.deepEqual([tones, open], [[440, 660], 2]);
  for (const does of timers.splice(0)) does();
  assert.equal(open, 0);
});

test("there is no tone for who looks at the page, or has turned it off", () => {
  document.hasFocus = () => true;
  arrives("approval");
  document.visibilityState = "hidden";
  settings["holdpoint.sound"] = "off";
  arrives("approval");
  assert.deepEqual([tones.length, open], [2, 0]);
});

test("a browser without sound keeps no request from the list", () => {
  settings["holdpoint.sound"] = "on";
  globalThis.AudioContext = class { constructor() { throw new Error("no sound"); } };
  assert.doesNotThrow(() => arrives("approval"));
});
