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
globalThis.setTimeout = then => setImmediate(then); // of the pauses between tries
const reply = (document, status = 200) => ({ ok: status < 300, status, text: async () => JSON.stringify(document) });
const anything = { request: {}, via: "open" };
let decides = () => reply(anything);
globalThis.fetch = async (path, { method, body, headers }) => {
  calls.push({ path, method, body, key: headers["Idempotency-Key"] });
  return method === "POST" ? decides() : reply(anything);
};
const { leftOf, lifetimes } = await import(`${process.env.HOLDPOINT_ASSETS}/lifetimes.js`);
const { decide } = await import(`${process.env.HOLDPOINT_ASSETS}/decide.js`);
const { isMine } = await import(`${process.env.HOLDPOINT_ASSETS}/inbox.js`);
const minute = 60_000, hour = 60 * minute;
let requests = 0;
// sends allows a request, with a rule for an hour, and returns what was sent: once for each try.
async function sends(atMs = now) {
  const one = { handle: "h" + ++requests, kind: "approval", run: "r" + requests, digest: "d", request: { id: "a" } };
  await decide([one], { behavior: "allow", remember: "always", remember_as: "exact", term: { forMs: hour, atMs } });
  return { one, tries: calls.filter(({ path }) => path === `/v1/runs/${one.run}/approvals`).map(({ body, key }) => ({ key, ...JSON.parse(body).resolutions[0] })) };
}
// fails answers the first tries with nothing, half an hour late.
function fails(times, then) {
  decides = () => {
    if (times-- <= 0) return then();
    now += 30 * minute;
    throw new TypeError("Failed to fetch");
  };
}

test("what is left of a term", () => {
  const term = { forMs: 120_000, atMs: now };
  assert.deepEqual([0, 1, 2, 3].map(late => leftOf(term, now + late * minute)), [120_000, 60_000, undefined, undefined]);
  assert.equal(leftOf({ forMs: 0, atMs: now }, now + minute), 0, "always is always");
});

test("today ends at midnight, when it was chosen", () => {
  now = new Date(2026, 10, 28, 23, 58).getTime();
  const term = { forMs: lifetimes.find(([name]) => name === "Today")[1](now), atMs: now };
  assert.equal(term.forMs, 120_000);
  now += 180_000;
  assert.equal(leftOf(term, now), undefined, "and not at the next one");
});

test("a decision is sent with what is left", async () => {
  const { tries } = await sends(now - minute);
  assert.equal(tries.length, 1);
  const { key, ...said } = tries[0];
  assert.ok(key);
  assert.deepEqual(said, { request_id: "a", handle: said.handle, input_digest: "d", behavior: "allow", remember: "always", remember_as: "exact", remember_for_ms: hour - minute });
});

test("each try says what is left by then, and in the end nothing is remembered", async () => {
  fails(2, () => reply(anything));
  const { tries } = await sends();
  assert.deepEqual(tries.map(one => one.remember_for_ms), [hour, hour / 2, undefined]);
  assert.deepEqual(tries.map(one => [one.behavior, one.remember, one.remember_as]), [["allow", "always", "exact"], ["allow", "always", "exact"], ["allow", undefined, undefined]]);
  assert.equal(new Set(tries.map(one => one.key)).size, 1, "it is one call");
});

test("a try that was recorded counts, although a later one says something else", async () => {
  const conflict = () => reply({ code: "idempotency_conflict", detail: "the key was used before" }, 409);
  fails(1, conflict);
  const { one, tries } = await sends();
  assert.deepEqual([tries.length, one.error, isMine(one.handle)], [2, "", true]);
  fails(0, conflict);
  const refused = await sends();
  assert.deepEqual([refused.tries.length, refused.one.error, isMine(refused.one.handle)], [1, "the key was used before", false]);
});
