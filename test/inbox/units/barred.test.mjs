// Whether the person may allow what excludes who asked for it: the service is asked about a few at once, never about thousands.
import assert from "node:assert/strict";
import { test } from "node:test";

globalThis.addEventListener = globalThis.removeEventListener = () => {};
globalThis.matchMedia = () => ({ matches: false, addEventListener() {} });
globalThis.sessionStorage = globalThis.localStorage = { getItem: () => null, setItem() {}, removeItem() {} };
globalThis.location = { pathname: "/", search: "", origin: "http://localhost" };
globalThis.document = { activeElement: null, querySelector: () => null, querySelectorAll: () => [], getElementById: () => null, addEventListener() {} };
globalThis.setInterval = globalThis.requestAnimationFrame = () => 0;
const asked = [], timers = [];
globalThis.setTimeout = (does, ms) => timers.push({ does, ms });
const settle = async () => { for (let i = 0; i < 5; i++) await new Promise(done => setImmediate(done)); };
globalThis.fetch = path => new Promise(answer => asked.push({ path, answer: (body, status = 200) => { answer({ ok: status < 300, status, text: async () => JSON.stringify(body) }); return settle(); } }));

const assets = process.env.HOLDPOINT_ASSETS;
const { inbox, promptOf } = await import(`${assets}/inbox.js`);
const { isUnknown, lookUps } = await import(`${assets}/barred.js`);
const { notKnown, whyNot } = await import(`${assets}/allow_several.js`);

// raised returns this many requests as a list has them, without their runs.
function raised(count) {
  asked.length = timers.length = 0;
  inbox.prompts.clear();
  return Array.from({ length: count }, (_, i) => {
    const one = promptOf({ session_id: "s", run_id: "r", agent_id: "a", request: { id: "a-" + i, handle: "h-" + i, tool_name: "x", created_at_ms: 1, exclude_requester: true } }, "approval");
    inbox.prompts.set(one.handle, one);
    return one;
  });
}
const view = more => ({ request: { exclude_requester: true }, run: {}, ...more });

test("at most 20 are asked about at once, and 100 in all", async () => {
  const list = raised(5000), asks = lookUps();
  asks.of(list);
  let answered = 0, most = 0;
  for (; answered < asked.length; answered++) {
    most = Math.max(most, asked.length - answered);
    await asked[answered].answer(view());
  }
  assert.deepEqual([most, answered, list.filter(isUnknown).length], [20, 100, 4900]);
  asks.of(list);
  await settle();
  assert.equal(asked.length, 100);
  asks.of(list.slice(100)); // the others were allowed
  for (; answered < asked.length; answered++) await asked[answered].answer(view());
  assert.equal(answered, 200);
  asks.stop();
});

test("a look-up that fails is repeated later, until the list is gone", async () => {
  const [one] = raised(1), asks = lookUps();
  asks.of([one]);
  const again = async () => { timers.splice(0).filter(({ ms }) => ms === 5000).forEach(({ does }) => does()); await settle(); };
  await asked[0].answer({ title: "busy" }, 503);
  await again();
  assert.deepEqual([asked.length, isUnknown(one)], [2, true]);
  await asked[1].answer({ title: "busy" }, 503);
  asks.stop();
  await again();
  assert.equal(asked.length, 2);
});

test("only what the service says the person may allow is allowed", async () => {
  const [free, own, lost] = raised(3), asks = lookUps(), reasons = () => [free, own, lost].map(one => whyNot(one, one.digest));
  asks.of([free, own, lost]);
  assert.deepEqual(reasons(), [notKnown, notKnown, notKnown]);
  await asked[0].answer(view());
  await asked[1].answer(view({ requester_excluded: { detail: "user:mara asked for it" } }));
  await asked[2].answer({ title: "busy" }, 503);
  assert.deepEqual(reasons(), ["not read", "your own request", notKnown]);
  asks.stop();
});

test("a list that says that the person may decide leaves nothing to look up", () => {
  const of = may_decide => promptOf({ session_id: "s", run_id: "r", agent_id: "a", may_decide, request: { id: "a", handle: "may", tool_name: "x", created_at_ms: 1, exclude_requester: true } }, "approval").barred;
  assert.deepEqual([true, false, undefined].map(of), ["", undefined, undefined]);
});
