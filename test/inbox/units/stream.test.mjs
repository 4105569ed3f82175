// The stream, for days: what ends and connects again leaves nothing behind.
import assert from "node:assert/strict";
import { test } from "node:test";

const online = new Set(), timers = [];
globalThis.localStorage = { getItem: () => null };
globalThis.addEventListener = (type, listener) => { assert.equal(type, "online"); online.add(listener); };
globalThis.removeEventListener = (type, listener) => { online.delete(listener); };
globalThis.setTimeout = (does, ms) => timers.push({ does, ms });
globalThis.clearTimeout = n => { if (n) timers[n - 1].does = () => {}; };
let tried = 0;
globalThis.fetch = async () => { tried++; throw new TypeError("Failed to fetch"); };
const settle = async () => { for (let i = 0; i < 5; i++) await new Promise(done => setImmediate(done)); };
const { follow } = await import(process.env.HOLDPOINT_ASSETS + "/stream.js");

test("a service that is away for long costs the page nothing", async () => {
  const end = new AbortController();
  let closed = 0;
  void follow("/v1/stream", { frame() {}, closed() { closed++; } }, end.signal);
  for (let n = 1; n <= 20; n++) {
    await settle();
    assert.deepEqual([tried, closed, online.size], [n, n, 1]);
    timers.at(-1).does();
  }
  // The network that comes back is not waited for.
  await settle();
  for (const listener of online) listener();
  await settle();
  assert.deepEqual([tried, online.size], [22, 1]);
  end.abort();
  timers.at(-1).does();
  await settle();
  assert.deepEqual([tried, online.size], [22, 0]);
});
