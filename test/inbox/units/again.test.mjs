// The page loads again when one of its scripts is missing.
import assert from "node:assert/strict";
import { test } from "node:test";

let failed, loads = 0;
const pauses = [];
globalThis.HTMLScriptElement = class {};
globalThis.addEventListener = (name, listener) => { if (name === "error") failed = listener; };
globalThis.setTimeout = (does, ms) => { pauses.push(ms); does(); };
globalThis.location = { reload() { loads++; } };
globalThis.history = { state: null, replaceState(state) { this.state = structuredClone(state); } };
globalThis.sessionStorage = { getItem: () => null, setItem() { throw new DOMException("full", "QuotaExceededError"); }, removeItem() {} };
await import(process.env.HOLDPOINT_ASSETS + "/again.js");

test("a full storage does not keep it from loading again, each time after a longer pause", () => {
  for (let tries = 0; tries < 8; tries++) failed({ target: new HTMLScriptElement() });
  assert.deepEqual([loads, pauses], [8, [500, 1000, 2000, 4000, 8000, 16000, 30000, 30000]]);
  failed({ target: {} });
  assert.equal(loads, 8, "only for scripts");
});
