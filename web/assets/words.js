// What the page says in words: times, ways and outcomes.

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hour12: false });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });

export function moment(ms, nowMs = Date.now()) {
  const at = new Date(ms), now = new Date(nowMs);
  const time = clock.format(at);
  return at.toDateString() === now.toDateString() ? time : `${day.format(at)}, ${time}`;
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
    case "clock": return "by the clock";
    case "run_ended": return "when the run ended";
    case "cancel": return "when the run was cancelled";
    case "interrupt": return "when the session was interrupted";
    case "session_end": return "when the session ended";
  }
  if (via.startsWith("rule:")) return "by a rule";
  return via.startsWith("api:") ? "in " + via.slice(4) : "in " + via;
}

const outcomes = { allowed: "Allowed", denied: "Denied", answered: "Answered", declined: "Declined", cancelled: "Cancelled", expired: "Expired" };

// person is how the page calls who decided.
export const person = by => by === "user:local" || !by ? "someone without a name" : by.replace(/^user:/, "");

// settledWords says what became of a request: by whom, by which way, when.
export function settledWords(kind, resolution, nowMs, mine) {
  const at = moment(resolution.resolved_at_ms, nowMs);
  if (resolution.outcome === "expired") return `Expired ${/,/.test(at) ? "on" : "at"} ${at}${kind === "approval" ? " and was denied" : ""}`;
  if (resolution.outcome === "gone") return `No longer here, ${at}`;
  let word = outcomes[resolution.outcome] ?? resolution.outcome;
  if (resolution.outcome === "allowed" && resolution.updated_input !== undefined) word = "Allowed with changes";
  if (resolution.outcome === "cancelled" && resolution.via === "worker") return `Withdrawn by the agent, ${at}`;
  if (mine) return `${word} by you, ${at}`;
  if (resolution.via.startsWith("rule:")) return `${word} by a rule, ${at}`;
  return `${word} by ${person(resolution.resolved_by)} ${way(resolution.via)}, ${at}`;
}

export function deadlineWords(kind, ms, nowMs) {
  const at = moment(ms, nowMs);
  const when = /,/.test(at) ? `on ${at}` : `at ${at}`;
  return kind === "approval" ? `is denied ${when}` : `the run ends ${when}`;
}

// dueWords says it shortly: what happens, and in how long.
export const dueWords = (kind, ms, nowMs) => `${kind === "approval" ? "denies" : "ends the run"} in ${roughly(ms - nowMs)}`;

export function size(bytes) { return bytes < 1024 ? `${bytes} bytes` : bytes < 1 << 20 ? `${Math.round(bytes / 1024)} KB` : `${(bytes / (1 << 20)).toFixed(1)} MB`; }
