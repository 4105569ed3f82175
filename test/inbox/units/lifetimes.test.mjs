// A rule ends when its text said, however long the dialog is open and the decision waits.
import assert from "node:assert/strict";
import { test } from "node:test";

let now = 1_800_000_000_000;
const calls = [];
Date.now = () => now;
globalThis.addEventListener = globalThis.removeEventListener = () => {};
globalThis.matchMedia = () => ({ matches: false, addEventListener() {} });
globalThis.sessionStorage = globalThis.localStorage = { getItem: () => null, setItem() {}, removeItem() {} };
globalThis.location = { pathname: "/", search: "", origin: "http://localhost" };
globalThis.document = { querySelector: () => null, getElementById: () => null, addEventListener() {}, activeElement: null };
globalThis.setInterval = () => 0;
Map.groupBy ??= (list, of) => list.reduce((groups, one) => groups.set(of(one), [...groups.get(of(one)) ?? [], one]), new Map());
globalThis.fetch = async (path, { method, body }) => {
  calls.push({ path, method, body });
  return { ok: true, status: 200, text: async () => JSON.stringify({ request: {}, via: "open" }) };
};
const { leftOf, lifetimes } = await import(`${process.env.HOLDPOINT_ASSETS}/lifetimes.js`);
const { decide } = await import(`${process.env.HOLDPOINT_ASSETS}/decide.js`);

test("what is left of a term", () => {
  const [term, minute] = [{ forMs: 120_000, atMs: now }, 60_000];
  assert.deepEqual([0, 1, 2, 3].map(late => leftOf(term, now + late * minute)), [120_000, 60_000, 1000, 1000]);
  assert.equal(leftOf({ forMs: 0, atMs: now }, now + minute), 0, "always is always");
});

test("today ends at midnight, when it was chosen", () => {
  now = new Date(2026, 10, 28, 23, 58).getTime();
  const term = { forMs: lifetimes.find(([name]) => name === "Today")[1](now), atMs: now };
  assert.equal(term.forMs, 120_000);
  now += 180_000;
  assert.equal(leftOf(term, now), 1000, "and not at the next one");
});

test("a decision is sent with what is left", async () => {
  const one = { handle: "h", kind: "approval", run: "r", digest: "d", request: { id: "a" } };
  const term = { forMs: 3_600_000, atMs: now - 60_000 };
  await decide([one], { behavior: "allow", remember: "always", remember_as: "exact", term });
  const { resolutions: [said] } = JSON.parse(calls.find(({ path }) => path === "/v1/runs/r/approvals").body);
  assert.deepEqual(said, { request_id: "a", handle: "h", input_digest: "d", behavior: "allow", remember: "always", remember_as: "exact", remember_for_ms: 3_540_000 });
});
