// Where a sign-in is kept on a loopback address, also in a browser whose storage is full.
import assert from "node:assert/strict";
import { test } from "node:test";

// storage takes nothing while it is full.
const storage = () => {
  const kept = new Map(), own = {
    full: false, kept, getItem: key => kept.get(key) ?? null, removeItem: key => { kept.delete(key); }, clear: () => kept.clear(),
    setItem(key, value) {
      if (own.full) throw new DOMException("The quota has been exceeded.", "QuotaExceededError");
      kept.set(key, value);
    },
  };
  return own;
};
globalThis.localStorage = storage();
globalThis.sessionStorage = storage();
let loads = 0;
globalThis.location = { origin: "http://localhost:8080", reload() { loads++; } };
const sent = [];
globalThis.fetch = async (path, { headers }) => {
  sent.push([path, headers.Authorization]);
  return { ok: true, status: 200, text: async () => JSON.stringify({ session: "secret-" + sent.length, principal: "user:ada", role: "operator" }) };
};
const { get, signIn, signOut } = await import(`${process.env.HOLDPOINT_ASSETS}/api.js`);

function browser(full) {
  localStorage.clear();
  Object.assign(localStorage, { full });
  loads = sent.length = 0;
}
const sends = async () => { await get("/v1/me"); return sent.at(-1)[1]; };
const kept = () => localStorage.kept.get("holdpoint.session");

test("a sign-in is kept for all tabs of the address", async () => {
  browser(false);
  await signIn("t");
  assert.deepEqual([kept(), await sends(), loads], ["secret-1", "Session secret-1", 1]);
  await signOut();
  assert.deepEqual([kept(), await sends()], [undefined, undefined]);
});

test("a browser without any room says so in plain words", async () => {
  browser(true);
  await assert.rejects(signIn("t"), { message: "Your browser has no room left to remember the sign-in at http://localhost:8080. Delete the stored data of this address in the browser's settings, then sign in again." });
  assert.equal(loads, 0);
});
