// The words about deadlines.
import assert from "node:assert/strict";
import { test } from "node:test";

// In this language some engines write 24:30 for half past midnight.
const { DateTimeFormat } = Intl;
Intl.DateTimeFormat = function (languages = "en-US", options) { return new DateTimeFormat(languages, options); };
const { dateOf, deadlineWords, dueWords, fullDeadline, fullTime, moment, reasonOf, settledWords, spoken, standing, timeOf } = await import(`${process.env.HOLDPOINT_ASSETS}/words.js`);

const at = 1_700_000_000_000, in4 = 4 * 60_000;
const one = (kind, at_deadline) => ({ kind, dueMs: at + in4, request: at_deadline ? { escalation: { at_deadline } } : {} });

test("a deadline says what it does", () => {
  for (const [kind, action, short, long, requester] of [
    ["approval", undefined, "denies in 4 min", /^is denied at /], ["approval", "deny", "denies in 4 min", /^is denied at /],
    ["question", undefined, "ends the run in 4 min", /^the run ends at /], ["question", "cancel_run", "ends the run in 4 min", /^the run ends at /],
    ["question", "decline", "declines in 4 min", /^is declined at /], ["question", "answer", "answers with the default in 4 min", /^gets its default answer at /],
    // An action that this page does not know is not taken for a harmless one.
    ["approval", "other", "denies in 4 min", /^is denied at /],
    // A question of a child session ends nothing.
    ["question", undefined, "declines in 4 min", /^is declined at /, "child"],
  ]) {
    assert.equal(dueWords({ ...one(kind, action), requester }, at), short);
    assert.match(deadlineWords({ ...one(kind, action), requester }, at), long);
  }
});

test("the title of a deadline says what it does, and has the whole time", () => {
  const due = (...parts) => ({ ...one("approval"), dueMs: new Date(2026, 10, ...parts).getTime() }), now = new Date(2026, 10, 29, 12).getTime();
  assert.match(fullDeadline(due(29, 14, 5), now), /^is denied at 14:05 \(Sunday.* 29 November 2026.* 14:05:00 \S+\)$/);
  assert.match(fullDeadline(due(30, 14, 5), now), /^is denied on 30 Nov, 14:05 \(Monday.* 30 November 2026.* 14:05:00 \S+\)$/);
});

test("an expired request says what its deadline did", () => {
  const expired = more => settledWords("question", { outcome: "expired", resolved_at_ms: at, via: "system", ...more }, at, false, false);
  assert.equal(expired({}), "Expired");
  assert.equal(expired({ declined: true }), "Expired and was declined");
  assert.equal(expired({ value: false }), "Expired, with the default answer");
  assert.equal(expired({ answers: [{ question_id: "q", selected_option_ids: ["a"] }] }), "Expired, with the default answer");
  assert.equal(settledWords("approval", { outcome: "expired", resolved_at_ms: at, via: "system" }, at, false, false), "Expired and was denied");
});

test("a time has its year where another one could be meant, and its title all of it", () => {
  const at = (...parts) => new Date(...parts).getTime(), now = at(2026, 10, 28, 12);
  assert.equal(moment(at(2026, 10, 28, 9, 5), now), "09:05");
  assert.equal(moment(at(2026, 10, 27, 9, 5), now), "27 Nov, 09:05");
  assert.equal(moment(at(2025, 10, 28, 9, 5), now), "28 Nov 2025, 09:05");
  assert.match(fullTime(at(2026, 10, 27, 9, 5, 7)), /^Friday.* 27 November 2026.* 09:05:07 \S+/);
  assert.equal(timeOf(at(2026, 10, 28, 0, 30)), "00:30");
  assert.equal(moment(at(2026, 10, 27, 0, 30), now), "27 Nov, 00:30");
  assert.match(fullTime(at(2026, 10, 27, 0, 30)), / 00:30:00 /);
});

test("a time later than any Date is the last one", () => {
  const late = 2 ** 53, now = new Date(2026, 10, 28, 12).getTime();
  assert.equal(dateOf(late).getTime(), 8.64e15);
  for (const said of [moment(late, now), fullTime(late), fullDeadline({ ...one("approval"), dueMs: late }, now)]) assert.match(said, /275760/);
  assert.match(timeOf(late), /^\d\d:\d\d$/);
});

test("a run is running as long as a worker has it", () => {
  const now = new Date(2026, 10, 28, 12).getTime(), min = 60_000, run = (status, lease, ago) => standing({ status, updated_at_ms: now - ago * min, lease: lease && { expires_at_ms: now + lease * min } }, now);
  assert.deepEqual(run("running", 1, 5), { status: "running", says: "" });
  assert.deepEqual(run("running", -5, 6), { status: "without a worker", says: "Its worker has not been heard from since 11:54. Another worker can claim the run." });
  assert.match(run("running", -5, 1).says, /since 11:55\./, "a decision that came later was not the worker");
  assert.equal(run("running", undefined, 6).status, "waiting for a worker");
  assert.deepEqual(run("waiting_for_approval", -5, 6), { status: "waiting for approval", says: "" });
});

test("a reason with nothing to see in it is none", () => {
  for (const blank of ["", " ", "\n\t ", undefined]) {
    assert.equal(spoken(blank), "");
    assert.equal(reasonOf({ outcome: "denied", reason: blank }), "");
  }
  assert.equal(reasonOf({ outcome: "denied", reason: " no\n" }), " no\n");
  assert.equal(spoken("\u200b"), "\u200b", "what is hidden is marked");
});
