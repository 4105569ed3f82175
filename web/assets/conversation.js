// The log of a session as a conversation: what the agent was given, what it said and did, and the requests with their
// decisions in place.

import { encode, textOf } from "./exact.js";
import { person } from "./words.js";

// Events that say nothing a reader would miss: the runs, or the requests, say it.
const acknowledging = { __proto__: null, acknowledged: "looked at a request", snoozed: "snoozed a request", none: "stopped looking or snoozing" };
const silent = new Set(["accepted", "queued", "request_notified", "approval_resolved", "user_question_resolved", "user_question_answered", "parent_clarification_resolved", "parent_clarification_requested", "grant_redeemed"]);
const said = { __proto__: null, started: "Started", completed: "Completed", failed: "Failed", cancelled: "Cancelled", interrupted: "Interrupted", run_retried: "Tried again" };
const mostText = 8000;

// The service refuses its own types from a worker, and nothing else of a worker's event: members and other types are what
// an agent likes, and no decision is read from them.
const asking = new Set(["waiting_for_approval", "waiting_for_user_question"]);
const settling = new Set(["approval_resolved", "user_question_resolved", "parent_clarification_resolved"]);
const ofService = new Set([...silent, ...asking, ...Object.keys(said), "output", "notification_failed", "request_acknowledged"]);

// nameOf is what an event is called. A type of the agent may read like a decision, so it says whose it is.
export const nameOf = type => (ofService.has(type) ? "" : "Agent: ") + type.replaceAll("_", " ");

// saysOf is why, as the event says it.
export function saysOf({ error, reason }) {
  const says = error ?? reason ?? "";
  return (typeof says === "string" ? says : encode(says)).slice(0, mostText);
}

// isRedacted reports whether the service has taken out the body of an event. A worker cannot write the digest of its own text.
export const isRedacted = ({ event, body_digest: digest }) => event.redacted === true && (!digest || event.body_digest === digest);

// resolutionsOf returns the resolutions in a log, by run and request.
function resolutionsOf(events) {
  const found = new Map();
  for (const { event, run_id: run } of events) {
    if (!settling.has(event.type)) continue;
    for (const one of event.resolutions ?? [event.resolution]) if (one) found.set(`${run}/${one.request_id}`, one);
  }
  return found;
}

const ends = new Set(["completed", "failed", "cancelled", "interrupted"]);

// decidedBefore returns, for each run, the place in a log before which none of its requests is open: a decision there was
// redacted, which happens after the end of a run alone, or the run has ended. A failed run may go on and ask again.
function decidedBefore(events) {
  const found = new Map();
  for (const [i, entry] of events.entries())
    if (ends.has(entry.event.type) || settling.has(entry.event.type) && isRedacted(entry)) found.set(entry.run_id, i);
  return found;
}

// undelivered tells of a message that was given up at an address. With a next one, the person may well be reached.
export const undelivered = ({ who, channel, next_channel: next }) =>
  next ? `Message to ${person(who)} by ${channel} went on to the next address (${next})` : `${person(who)} was not reached (${channel})`;

function line(entry) {
  const { event, id, timestamp_ms: atMs } = entry;
  if (event.type === "notification_failed" && event.who) return { kind: "line", key: id, atMs, what: undelivered(event), text: "" };
  return { kind: "line", key: id, atMs, what: said[event.type] ?? nameOf(event.type), text: isRedacted(entry) ? "redacted" : saysOf(event) };
}

// readEvents reads the events after one number up to another, the oldest first. A page of the service ends at some
// megabytes, so that there may be several.
export async function readEvents(read, after, last) {
  const events = [];
  while (after < last) {
    const page = await read(after, Math.min(1000, last - after));
    if (page.length === 0) break;
    events.push(...page);
    after = Number(page.at(-1).id);
  }
  return events;
}

// conversation returns what is shown of the events of a session, the oldest first:
// {kind: "input"|"output"|"line", key, atMs, text, what} or {kind: "request", key, atMs, of, view, resolution, redacted}.
// redacted says that the log had a decision about it.
export function conversation(events, runs = []) {
  const resolutions = resolutionsOf(events), before = decidedBefore(events), inputs = new Map(runs.map(run => [run.run_id, run.request?.text_preview])), suspended = new Set();
  return events.flatMap((entry, i) => {
    const { event, id, timestamp_ms: atMs } = entry;
    if (asking.has(event.type)) suspended.add(entry.run_id);
    switch (event.type) {
      case "started": return [{ ...line(entry), ...suspended.has(entry.run_id) && { what: "Continued" } }];
      case "accepted": {
        const text = inputs.get(entry.run_id);
        return text ? [{ kind: "input", key: id, atMs, text, run: entry.run_id }] : [];
      }
      case "output": {
        const text = textOf(event.output?.node, "content") ?? "";
        return text ? [{ kind: "output", key: id, atMs, text: text.slice(0, mostText) }] : [];
      }
      case "waiting_for_approval":
      case "waiting_for_user_question":
        if (isRedacted(entry)) return [line(entry)];
        return (event.requests ?? []).filter(request => request.handle).map(request => ({
          kind: "request", key: request.handle, atMs,
          of: event.type === "waiting_for_approval" ? "approval" : "question", view: { ...entry, request },
          resolution: resolutions.get(`${entry.run_id}/${request.id}`), redacted: i < before.get(entry.run_id) && !resolutions.has(`${entry.run_id}/${request.id}`),
        }));
      case "request_acknowledged":
        return [{ kind: "line", key: id, atMs, what: `${person(event.by)} ${acknowledging[event.state] ?? event.state}`, text: "" }];
    }
    return silent.has(event.type) ? [] : [line(entry)];
  });
}
