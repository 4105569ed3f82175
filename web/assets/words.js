// What the page says in words: times, ways and outcomes.

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const dayOfYear = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const full = new Intl.DateTimeFormat("en-GB", { weekday: "long", day: "numeric", month: "long", year: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23", timeZoneName: "short" });

// dateOf is a time as a Date. Requests and tokens of an earlier version may have one that no Date has.
export const dateOf = ms => new Date(Math.min(ms, 8.64e15));

export function moment(ms, nowMs = Date.now()) {
  const at = dateOf(ms), now = new Date(nowMs);
  const time = clock.format(at);
  if (at.toDateString() === now.toDateString()) return time;
  return `${(at.getFullYear() === now.getFullYear() ? day : dayOfYear).format(at)}, ${time}`;
}

// fullTime is a local time with its day, seconds and zone, for titles.
export const fullTime = ms => full.format(dateOf(ms));

export const timeOf = ms => clock.format(dateOf(ms));

const longDay = new Intl.DateTimeFormat("en-GB", { weekday: "long", day: "numeric", month: "long" });
const olderDay = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "long", year: "numeric" });

// dayOf names a day: "Today", "Yesterday", "Tuesday 24 November", or with its year.
export function dayOf(ms, nowMs) {
  const at = dateOf(ms), now = new Date(nowMs), yesterday = new Date(now.getFullYear(), now.getMonth(), now.getDate() - 1);
  if (at.toDateString() === now.toDateString()) return "Today";
  if (at.toDateString() === yesterday.toDateString()) return "Yesterday";
  return (at.getFullYear() === now.getFullYear() ? longDay : olderDay).format(at);
}

export function span(ms) {
  const s = Math.max(0, Math.round(ms / 1000));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60 ? (s % 60) + " s" : ""}`.trim();
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor(s % 3600 / 60)} min`;
  return `${Math.floor(s / 86400)} d ${Math.floor(s % 86400 / 3600)} h`;
}

// roughly is a span in one unit: "56 s" under two minutes, then "4 min", "2 h", "3 d".
export function roughly(ms) {
  const s = Math.max(0, Math.floor(ms / 1000));
  if (s < 120) return `${s} s`;
  if (s < 7200) return `${Math.floor(s / 60)} min`;
  if (s < 2 * 86400) return `${Math.floor(s / 3600)} h`;
  return `${Math.floor(s / 86400)} d`;
}

export function way(via) {
  switch (via) {
    case "api": return "by the API";
    case "api:cli": return "in the terminal";
    case "api:inbox": return "in the inbox";
    case "api:notification": return "in a notification";
    case "link:email": return "by the link in a mail";
    case "link:http": return "by the link in a message";
    case "slack": return "in Slack";
    case "clock": return "by the clock";
    case "run_ended": return "when the run ended";
    case "cancel": return "when the run was cancelled";
    case "interrupt": return "when the session was interrupted";
    case "session_end": return "when the session ended";
  }
  if (via.startsWith("rule:")) return "by a rule";
  return via.startsWith("api:") ? "in " + via.slice(4) : "in " + via;
}

export const outcomes = { __proto__: null, allowed: "Allowed", denied: "Denied", answered: "Answered", declined: "Declined", cancelled: "Cancelled", expired: "Expired" };

// person is how the page calls who decided.
export const person = by => by === "user:local" || !by ? "someone without a name" : by.replace(/^user:/, "");

const expiredWith = ({ answers, value, declined }) => answers?.length || value !== undefined ? ", with the default answer" : declined ? " and was declined" : "";

// settledWords says what became of a request: by whom, by which way and, unless a line has it already, when.
export function settledWords(kind, resolution, nowMs, mine, timed = true) {
  const at = moment(resolution.resolved_at_ms, nowMs), when = timed ? `, ${at}` : "";
  if (resolution.outcome === "expired") return `Expired${timed ? ` ${/,/.test(at) ? "on" : "at"} ${at}` : ""}${kind === "approval" ? " and was denied" : expiredWith(resolution)}`;
  if (resolution.outcome === "gone") return `No longer here${when}`;
  let word = outcomes[resolution.outcome] ?? resolution.outcome;
  if (resolution.outcome === "allowed" && resolution.updated_input !== undefined) word = "Allowed with changes";
  if (resolution.outcome === "cancelled" && resolution.via === "worker") return `Withdrawn by the agent${when}`;
  if (mine) return `${word} by you${when}`;
  if (resolution.via.startsWith("rule:")) return `${word} by a rule${when}`;
  return `${word} by ${person(resolution.resolved_by)} ${way(resolution.via)}${when}`;
}

// reasonOf is why somebody decided so. At a deadline nobody did, and the service's own words say the time once more.
export const reasonOf = ({ outcome, reason }) => outcome === "expired" ? "" : spoken(reason);

// spoken is what somebody says: nothing if there is nothing to see in it.
export const spoken = text => text && !/^[ \t\n]+$/.test(text) ? text : "";

// deadlines says what the deadline of a request does, in a sentence and shortly. With "keep" it does nothing,
// and a prompt has no deadline.
const deadlines = {
  __proto__: null,
  deny: ["is denied", "denies"], cancel_run: ["the run ends", "ends the run"],
  decline: ["is declined", "declines"], answer: ["gets its default answer", "answers with the default"],
};
// The service declines the question of a child session to its parent; no run ends.
const deadlineOf = one => deadlines[one.request.escalation?.at_deadline] ?? deadlines[one.kind === "approval" ? "deny" : one.requester ? "decline" : "cancel_run"];

export function deadlineWords(one, nowMs) {
  const at = moment(one.dueMs, nowMs);
  return `${deadlineOf(one)[0]} ${/,/.test(at) ? "on" : "at"} ${at}`;
}

// fullDeadline also has the whole time, for titles.
export const fullDeadline = (one, nowMs) => `${deadlineWords(one, nowMs)} (${fullTime(one.dueMs)})`;

// dueWords says it shortly: what happens, and in how long.
export const dueWords = (one, nowMs) => `${deadlineOf(one)[1]} in ${roughly(one.dueMs - nowMs)}`;

// standing says how a run stands: its status in words, and what is true of one that is "running" and that no worker has.
export function standing({ status, lease, updated_at_ms: updatedMs }, nowMs) {
  if (status !== "running" || lease?.expires_at_ms > nowMs) return { status: status.replaceAll("_", " "), says: "" };
  if (!lease) return { status: "waiting for a worker", says: "" };
  // What changed later, such as a decision, was not the worker.
  const heard = moment(Math.min(updatedMs, lease.expires_at_ms), nowMs);
  return { status: "without a worker", says: `Its worker has not been heard from since ${heard}. Another worker can claim the run.` };
}

export function size(bytes) { return bytes < 1024 ? `${bytes} bytes` : bytes < 1 << 20 ? `${Math.round(bytes / 1024)} KB` : `${(bytes / (1 << 20)).toFixed(1)} MB`; }
