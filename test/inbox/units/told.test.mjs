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

test("a session has one notification: of several open requests it says how many, opens the session and denies none", async () => {
  const { inbox } = await import(process.env.HOLDPOINT_ASSETS + "/inbox.js");
  const shown = [];
  const worker = { showNotification: async (title, { tag, actions, data }) => { shown.push([title, tag, actions?.length ?? 0, data.handle, data.path]); } };
  Object.defineProperty(globalThis, "navigator", { value: { serviceWorker: { getRegistration: async () => worker, ready: worker } }, configurable: true });
  globalThis.Notification = { permission: "granted" };
  settings["holdpoint.notifications"] = "on";
  settings["holdpoint.sound"] = "off";
  const arrivesIn = async (handle, session, more) => {
    const one = { kind: "question", handle, session, agent: "coder", request: {}, ...more };
    inbox.prompts.set(handle, one);
    tell(one);
    await new Promise(setImmediate);
  };
  await arrivesIn("h1", "s/1");
  await arrivesIn("h2", "s2");
  await arrivesIn("h3", "s/1");
  inbox.prompts.get("h1").resolution = {};
  await arrivesIn("h4", "s/1", { request: { tool_name: "deploy" } });
  inbox.prompts.get("h3").resolution = {};
  await arrivesIn("h4", "s/1");
  assert.deepEqual(shown, [
    ["coder in s/1", "session s/1", 0, "h1", "/?prompt=h1"],
    ["coder in s2", "session s2", 0, "h2", "/?prompt=h2"],
    ["2 requests are open", "session s/1", 0, "", "/sessions/s%2F1"],
    ["2 requests are open", "session s/1", 0, "", "/sessions/s%2F1"],
    ["coder in s/1", "session s/1", 0, "h4", "/?prompt=h4"],
  ]);
});
