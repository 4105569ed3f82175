// The events of a run, page by page.
import assert from "node:assert/strict";
import { test } from "node:test";

let timers = [];
globalThis.setTimeout = (does, ms) => timers.push({ does, ms });
globalThis.clearTimeout = () => {};
const settle = async () => { for (let i = 0; i < 5; i++) await new Promise(done => setImmediate(done)); };
const { Refused } = await import(`${process.env.HOLDPOINT_ASSETS}/api.js`);
const { followEvents } = await import(`${process.env.HOLDPOINT_ASSETS}/run_events.js`);

// service has a log; a page has at most 1,000 events.
function service(count) {
  const log = Array.from({ length: count }, (_, i) => ({ id: String(3 * i + 1) })), asked = [], state = { error: null };
  const read = async after => {
    asked.push(after);
    if (state.error) throw state.error;
    return log.filter(({ id }) => Number(id) > after).slice(0, 1000);
  };
  return { log, asked, state, read };
}
// waits lets the page go on after its pause, which it returns.
const waits = async () => { const [{ does, ms }] = timers.splice(0); does(); await settle(); return ms; };

test("events beyond the first page, and those that come, are shown", async () => {
  const { log, asked, state, read } = service(1001);
  let shown;
  const end = followEvents(read, now => { shown = now; });
  await settle();
  assert.equal(shown.events.length, 1000);
  assert.equal(await waits(), 0, "the next page is read at once");
  assert.equal(shown.events.length, 1001);
  await waits();
  log.push({ id: "4000" });
  assert.equal(await waits(), 5000);
  assert.deepEqual([shown.events.length, shown.events.at(-1).id, shown.cut, shown.error], [1002, "4000", false, undefined]);
  assert.deepEqual(asked, [0, 2998, 3001, 3001]);

  await waits();
  state.error = new Refused(503, {});
  await waits();
  assert.match(shown.error, /Trying again/);
  assert.equal(shown.events.length, 1002, "what was seen stays");
  state.error = null;
  log.push({ id: "4001" });
  assert.equal(await waits(), 5000);
  assert.deepEqual([shown.events.length, shown.error], [1003, undefined]);
  end();
});

test("the newest events of a long run are shown", async () => {
  const { read } = service(2500);
  let shown;
  timers = [];
  const end = followEvents(read, now => { shown = now; });
  await settle();
  while (await waits() === 0);
  assert.deepEqual([shown.events.length, shown.events[0].id, shown.events.at(-1).id, shown.cut], [2000, "1501", "7498", true]);
  end();
  const before = shown;
  await waits();
  assert.equal(shown, before, "nothing is shown once the page is left");
});
