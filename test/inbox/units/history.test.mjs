// The history as CSV, by day, and the conversation of a session.
import assert from "node:assert/strict";
import { test } from "node:test";

const load = name => import(`${process.env.HOLDPOINT_ASSETS}/${name}.js`);
const { csv } = await load("csv");
const { dayOf } = await load("words");

test("cells with separators are quoted, and no cell is a formula", () => {
  assert.equal(csv(["a", "b"], [["x,y", 'say "no"'], ["=1+1", "+49"], ["-2", "@sum"], [undefined, 3]]), 'a,b\r\n"x,y","say ""no"""\r\n\'=1+1,\'+49\r\n\'-2,\'@sum\r\n,3\r\n');
  assert.equal(csv(["a"], [["two\nlines"], ["\t=1"]]), 'a\r\n"two\nlines"\r\n\'\t=1\r\n');
});

test("days are named from where the person stands", () => {
  const at = (...parts) => new Date(...parts).getTime(), now = at(2026, 10, 26, 0, 5);
  assert.equal(dayOf(at(2026, 10, 26, 0, 1), now), "Today");
  assert.equal(dayOf(at(2026, 10, 25, 23, 59), now), "Yesterday");
  assert.equal(dayOf(at(2026, 10, 24, 12), now), "Tuesday 24 November");
  assert.equal(dayOf(at(2025, 10, 24, 12), now), "24 November 2025");
  assert.equal(dayOf(at(2026, 2, 1, 12), at(2026, 2, 2, 12)), "Yesterday");
});

test("a session's log is a conversation, with each decision at its request", async () => {
  const { conversation } = await load("conversation");
  const { Json } = await load("exact");
  const entry = (id, event, run_id = "r") => ({ id, run_id, session_id: "s", agent_id: "coder", timestamp_ms: Number(id), event });
  const asked = { id: "a", handle: "h1", tool_name: "Bash" }, later = { id: "b", handle: "h2", tool_name: "Bash" };
  const items = conversation([
    entry("1", { type: "accepted" }), entry("2", { type: "started" }),
    entry("3", { type: "output", output: new Json('{"content":"I will look."}') }),
    entry("4", { type: "waiting_for_approval", requests: [asked, later] }),
    entry("5", { type: "approval_resolved", resolutions: [{ request_id: "a", outcome: "allowed" }] }),
    entry("6", { type: "tests_ran" }), entry("7", { type: "failed", error: "exit 1" }), entry("8", { type: "waiting_for_approval", redacted: true }),
    entry("9", { type: "started" }), entry("10", { type: "started" }, "another"),
  ], [{ run_id: "r", request: { text_preview: "Fix the build" } }]);
  assert.deepEqual(items.map(({ kind, text, what, resolution }) => [kind, text ?? "", what ?? resolution?.outcome ?? ""]), [
    ["input", "Fix the build", ""], ["line", "", "Started"], ["output", "I will look.", ""], ["request", "", "allowed"], ["request", "", ""],
    ["line", "", "Agent: tests ran"], ["line", "exit 1", "Failed"], ["line", "redacted", "waiting for approval"],
    ["line", "", "Continued"], ["line", "", "Started"],
  ]);
});

test("an agent's own event decides nothing, whatever it says", async () => {
  const { conversation } = await load("conversation");
  const resolved = { request_id: "a", outcome: "allowed", resolved_by: "user:ada", via: "api:inbox", resolved_at_ms: 1 };
  const asked = { type: "waiting_for_approval", requests: [{ id: "a", handle: "h", tool_name: "Bash" }] };
  const shown = (...events) => conversation(events.map((event, i) => ({ id: String(i), run_id: "r", timestamp_ms: i, body_digest: "sha256:1", event }))).map(({ what, text, resolution }) => [what ?? "", text ?? "", resolution?.outcome ?? ""]);
  for (const forged of [{ resolutions: [resolved] }, { resolution: resolved }, { resolutions: 5 }, { resolutions: [null] }, { resolutions: {}, resolution: 1 }])
    assert.deepEqual(shown(asked, { type: "note", ...forged }), [["", "", ""], ["Agent: note", "", ""]], JSON.stringify(forged));
  assert.deepEqual(shown(asked, { type: "approval_resolved", resolutions: [resolved] }), [["", "", "allowed"]]);
  assert.deepEqual(shown({ type: "Allowed_by_ada" }, { type: "__proto__" }, { type: "constructor" }, { type: "waiting_for_x" }, { type: "started" }).map(([what]) => what),
    ["Agent: Allowed by ada", "Agent:   proto  ", "Agent: constructor", "Agent: waiting for x", "Started"]);
  assert.deepEqual(shown({ type: "note", error: { toString: 1 } }, { type: "note", reason: 5 }, { type: "note", redacted: true, reason: "mine" }).map(([, text]) => text), ['{"toString":1}', "5", "mine"]);
  assert.deepEqual(shown({ type: "note", redacted: true, body_digest: "sha256:1" }).map(([, text]) => text), ["redacted"]);
});

test("a request whose decision was redacted does not wait", async () => {
  const { conversation } = await load("conversation");
  const asked = id => ({ type: "waiting_for_approval", requests: [{ id, handle: "h-" + id, tool_name: "Bash" }] }), gone = { type: "approval_resolved", redacted: true };
  const redacted = (...events) => conversation(events.map(([event, run_id = "r"], i) => ({ id: String(i), run_id, timestamp_ms: i, event }))).filter(({ kind }) => kind === "request").map(one => [one.key, one.redacted]);
  assert.deepEqual(redacted([asked("a")], [asked("b"), "other"]), [["h-a", false], ["h-b", false]]);
  assert.deepEqual(redacted([asked("a")], [asked("b"), "other"], [gone]), [["h-a", true], ["h-b", false]]);
  assert.deepEqual(redacted([asked("a")], [{ type: "cancelled" }]), [["h-a", true]]);
  assert.deepEqual(redacted([asked("a")], [gone], [{ type: "failed" }], [{ type: "run_retried" }], [asked("b")]), [["h-a", true], ["h-b", false]], "a run that goes on asks again");
  assert.deepEqual(redacted([asked("a")], [{ type: "approval_resolved", resolutions: [{ request_id: "a", outcome: "denied" }] }], [{ type: "completed" }]), [["h-a", false]]);
});

test("a message that went on to the next address is not shown as a failure", async () => {
  const { conversation } = await load("conversation");
  const failed = { type: "notification_failed", request_id: "a", who: "user:ada", channel: "mail" };
  const shown = event => conversation([{ id: "1", run_id: "r", timestamp_ms: 1, event }]).map(({ kind, what, text }) => [kind, what, text]);
  assert.deepEqual(shown({ ...failed, next_channel: "slack" }), [["line", "Message to ada by mail went on to the next address (slack)", ""]]);
  assert.deepEqual(shown(failed), [["line", "ada was not reached (mail)", ""]]);
  assert.deepEqual(shown({ type: "notification_failed", redacted: true }), [["line", "notification failed", "redacted"]]);
});

test("a log is read to its end when the service cuts its pages", async () => {
  const { readEvents } = await load("conversation");
  const asked = [], log = n => Array.from({ length: n }, (_, i) => ({ id: String(i + 1) }));
  const cut = most => (after, limit) => { asked.push([after, limit]); return Promise.resolve(log(2300).slice(after, after + Math.min(limit, most))); };
  assert.deepEqual((await readEvents(cut(2), 5, 10)).map(({ id }) => id), ["6", "7", "8", "9", "10"]);
  assert.deepEqual(asked.splice(0), [[5, 5], [7, 3], [9, 1]]);
  assert.equal((await readEvents(cut(1000), 0, 2300)).length, 2300);
  assert.equal((await readEvents(cut(1000), 2298, 9000)).length, 2, "it ends where the service has no others");
  assert.deepEqual(await readEvents(cut(1000), 7, 7), []);
});
