// The other pages: what was decided, runs and sessions, rules, workers, effects, settings.

import { html, useLayoutEffect, useReducer, useState } from "./vendor/htm-preact-standalone-3.1.1.js";
import { account, call, newKey, onAccount, path, settings, signOut } from "./api.js";
import { Confirm, Failure, Table, useRead } from "./components.js";
import { InputView } from "./content.js";
import { encode, pretty, read, textOf } from "./exact.js";
import { nameOfRow, shortID } from "./groups.js";
import { isMine, nowMs, promptOf, subscribe } from "./inbox.js";
import { marked } from "./marks.js";
import { PushSettings, turnOffPush } from "./push.js";
import { query, setQuery } from "./route.js";
import { askingSession } from "./row.js";
import { Tokens } from "./tokens.js";
import { waits, waitSeconds } from "./undo.js";
import { moment, person, settledWords, span } from "./words.js";

const run = id => html`<a href=${"/runs/" + encodeURIComponent(id)}><code>${id}</code></a>`;
const session = id => html`<a href=${"/sessions/" + encodeURIComponent(id)}><code>${id}</code></a>`;

function Decided({ view }) {
  const { request, resolution } = view;
  const what = view.kind === "approval" ? request.tool_name : request.questions?.[0]?.header || request.questions?.[0]?.question || "Question";
  return html`<tr><td><time>${moment(resolution.resolved_at_ms, nowMs())}</time></td>
    <td><strong class=${"outcome-" + resolution.outcome}>${marked(settledWords(view.kind, resolution, nowMs(), isMine(request.handle)).split(",")[0])}</strong>
      ${resolution.reason && html`<div class="quiet">“${marked(resolution.reason)}”</div>`}${resolution.rule && html`<div class="quiet">${marked(resolution.rule.text)}</div>`}</td>
    <td><a href=${"/?prompt=" + encodeURIComponent(request.handle)}>${marked(what)}</a>${view.kind === "approval" && html`<div class="input-line"><code>${marked(shortInput(request))}</code></div>`}</td>
    <td>${session(view.session_id)}</td><td>${run(view.run_id)}</td></tr>`;
}

function shortInput(request) {
  if (!request.input) return "";
  const { node } = request.input;
  const command = !request.input_truncated && textOf(node, "command");
  const others = command ? node.members.length - 1 : 0;
  const text = command || (request.input_truncated ? node.value : pretty(node, ""));
  return (text.length > 160 ? text.slice(0, 160) + "…" : text) + (others ? ` (and ${others} more)` : "");
}

export function History() {
  const params = query();
  const asked = new URLSearchParams({ fields: "summary" });
  for (const name of ["actor", "outcome", "session_id", "agent_id", "cursor"]) if (params.get(name)) asked.set(name, params.get(name));
  const { data, error } = useRead("/v1/decisions?" + asked);
  const filter = (label, name) => html`<label>${label}<input value=${params.get(name) ?? ""} onChange=${e => setQuery({ [name]: e.target.value.trim(), cursor: "" })} /></label>`;
  return html`<h1>History</h1><div class="filters">${filter("Decided by", "actor")}${filter("Session", "session_id")}${filter("Agent", "agent_id")}
    <label>Outcome<select onChange=${e => setQuery({ outcome: e.target.value, cursor: "" })}>${["", "allowed", "denied", "answered", "declined", "cancelled", "expired"].map(one => html`<option value=${one} selected=${(params.get("outcome") ?? "") === one}>${one || "All"}</option>`)}</select></label></div>
    <${Failure} error=${error} />
    ${data && html`<${Table} label="Decisions" heads=${["When", "Decision", "About", "Session", "Run"]} empty="Nothing has been decided yet." rows=${data.items.map(view => html`<${Decided} view=${view} key=${view.request.handle} />`)} />
    ${data.pagination.has_more && html`<button onClick=${() => setQuery({ cursor: data.pagination.next_cursor })}>Older</button>`}`}`;
}

const said = { accepted: "accepted", queued: "queued", started: "started", completed: "completed", failed: "failed", cancelled: "cancelled", interrupted: "interrupted", output: "output", waiting_for_approval: "waits for approval", waiting_for_user_question: "waits for an answer", request_acknowledged: "looked at" };

function EventLine({ entry }) {
  const { event } = entry;
  let more = "";
  if (event.redacted) more = "redacted";
  else if (event.type === "approval_resolved") more = event.resolutions.map(one => settledWords("approval", one, nowMs(), false)).join("; ");
  else if (event.type === "user_question_resolved") more = settledWords("question", event.resolution, nowMs(), false);
  else if (event.type === "waiting_for_approval") more = (event.requests ?? []).map(one => one.tool_name).join(", ");
  else if (event.type === "request_acknowledged") more = `by ${person(event.by)}${event.state === "none" ? ", taken back" : ""}`;
  else if (event.error || event.reason) more = event.error ?? event.reason;
  else if (event.type === "output") more = event.output ? textOf(event.output.node, "content") ?? "" : "";
  return html`<li><time>${moment(entry.timestamp_ms, nowMs())}</time> <span class="event">${marked(said[event.type] ?? event.type.replaceAll("_", " "))}</span> ${more && html`<span class="quiet">${marked(String(more).slice(0, 2000))}</span>`}</li>`;
}

function Timeline({ address }) {
  const { data, error } = useRead(address, 5000);
  return html`<h2>Timeline</h2><${Failure} error=${error} />${data && html`<ol class="timeline">${data.map(entry => html`<${EventLine} entry=${entry} key=${entry.id} />`)}</ol>`}`;
}

function Facts({ facts }) {
  return html`<dl class="details">${facts.filter(([, value]) => value).map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;
}

export function Run({ id }) {
  const { data, error, reload } = useRead(path("runs", id), 5000);
  return html`<h1><code>${marked(id)}</code></h1><${Failure} error=${error} />${data && html`
    <${Facts} facts=${[["Status", data.status.replaceAll("_", " ")], ["Session", session(data.session_id)], ["Agent", data.agent_id], ["Submitted", moment(data.submitted_at_ms, nowMs())], ["Attempt", data.attempt], ["Worker", data.lease?.worker_id], ["Waiting for", data.pending_approvals?.concat(data.pending_questions ?? []).map(one => html`<a href=${"/?prompt=" + encodeURIComponent(one.handle)}>${marked(one.tool_name ?? one.questions?.[0]?.header ?? "Question")}</a> `)], ["Error", data.error && marked(data.error)]]} />
    ${data.output !== undefined && html`<h2>Output</h2><${InputView} value=${data.output} />`}
    ${!data.finished_at_ms && html`<${Confirm} label="Cancel run" question="This ends the run and everything it waits for." does=${() => call("POST", path("runs", id, "cancel"), {}, { "Idempotency-Key": newKey() }).then(reload)} />`}
    <${Timeline} address=${path("runs", id, "events")} />`}`;
}

// Waiting lists the pending requests of a session and of the sessions below it. A request of another session says which.
function Waiting({ id }) {
  const asked = "?page=true&limit=100&fields=summary&session_id=" + encodeURIComponent(id);
  const approvals = useRead("/v1/approvals" + asked, 5000), questions = useRead("/v1/questions" + asked, 5000);
  const list = [["approval", approvals], ["question", questions]].flatMap(([kind, { data }]) => (data?.items ?? []).map(view => promptOf(view, kind)));
  const other = one => [askingSession(one) || one.session].find(session => session !== id);
  return list.length > 0 && html`<h2>Waiting now</h2><ul class="waiting" aria-label="Waiting now">${list.map(one => html`<li key=${one.handle}><a href=${"/?prompt=" + encodeURIComponent(one.handle)}>${marked(nameOfRow(one))}</a> ${other(one) && html`<span class="quiet">asked by <a href=${"/sessions/" + encodeURIComponent(other(one))} title=${other(one)}>${marked(shortID(other(one)))}</a></span>`}</li>`)}</ul>`;
}

export function Session({ id }) {
  const { data, error } = useRead(path("sessions", id), 5000);
  const runs = useRead("/v1/runs?limit=100&session_id=" + encodeURIComponent(id), 5000);
  const letters = useRead(path("sessions", id, "mailbox", "dead-letter"));
  return html`<h1>${data?.label ? marked(data.label) : html`<code>${marked(id)}</code>`}</h1><${Failure} error=${error} />${data && html`
    <${Facts} facts=${[["Status", data.status.replaceAll("_", " ")], ["Agent", data.agent_id], ["Where", data.origin && marked([data.origin.project, data.origin.directory, data.origin.host].filter(Boolean).join(" · "))], ["Parent", data.parent_session_id && session(data.parent_session_id)], ["Active run", data.active_run && run(data.active_run.run_id)], ["Queued", data.queued_run_ids.length || ""], ["Pending requests", data.pending_count || ""]]} />
    <p><a href=${"/history?session_id=" + encodeURIComponent(id)}>Decisions in this session</a></p>
    <${Waiting} id=${id} />
    <h2>Runs</h2><${Table} label="Runs" heads=${["Run", "Status", "Submitted"]} empty="It has no runs." rows=${(runs.data ?? []).map(one => html`<tr key=${one.run_id}><td>${run(one.run_id)}</td><td>${one.status.replaceAll("_", " ")}</td><td>${moment(one.submitted_at_ms, nowMs())}</td></tr>`)} />
    ${letters.data?.messages?.length > 0 && html`<h2>Dead letters</h2><pre class="json"><code>${marked(pretty(read(encode(letters.data.messages))))}</code></pre>`}
    <${Timeline} address=${path("sessions", id, "events")} />`}`;
}

export function Rules() {
  const { data, error, reload } = useRead("/v1/rules?page=true&limit=100" + (query().get("cursor") ? "&cursor=" + encodeURIComponent(query().get("cursor")) : ""));
  const revoke = id => call("DELETE", path("rules", id)).then(reload);
  return html`<h1>Rules</h1><${Failure} error=${error} />${data && html`<${Table} label="Rules" heads=${["Rule", "Decisions", "Created", ""]} empty="There are no standing rules." rows=${data.items.map(rule => {
    const over = rule.revoked_at_ms ? `revoked by ${rule.revoked_by}, ${moment(rule.revoked_at_ms, nowMs())}` : rule.expires_at_ms && rule.expires_at_ms <= nowMs() ? "expired" : "";
    return html`<tr key=${rule.rule_id} class=${over ? "over" : ""}><td>${marked(rule.text)}${over && html`<div class="quiet">${marked(over)}</div>`}</td><td>${rule.hits}</td><td>${marked(rule.created_by)}, ${moment(rule.created_at_ms, nowMs())}</td>
      <td>${!over && html`<${Confirm} label="Revoke" question="Its decisions stay." does=${() => revoke(rule.rule_id)} />`}</td></tr>`;
  })} />${data.pagination.has_more && html`<button onClick=${() => setQuery({ cursor: data.pagination.next_cursor })}>Next page</button>`}`}`;
}

export function Workers() {
  const { data, error } = useRead("/v1/workers", 3000);
  return html`<h1>Workers</h1><${Failure} error=${error} />${data && html`<${Table} label="Leases" heads=${["Worker", "Run", "Session", "Status", "Last heartbeat", "Lease expires in"]} empty="No active workers." rows=${data.workers.flatMap(worker => worker.leases.map(lease => html`<tr key=${lease.run_id}>
    <td><code>${marked(worker.worker_id)}</code></td><td>${run(lease.run_id)}</td><td>${session(lease.session_id)}</td><td>${lease.status.replaceAll("_", " ")}</td><td>${span(data.now_ms - lease.updated_at_ms)} ago</td><td>${span(lease.expires_at_ms - data.now_ms)}</td></tr>`))} />`}`;
}

export function Effects() {
  const asked = new URLSearchParams({ page: "true", limit: "100" });
  for (const name of ["state", "cursor"]) if (query().get(name)) asked.set(name, query().get(name));
  const { data, error, reload } = useRead("/v1/effects?" + asked, 5000);
  const retry = effect => call("POST", path("sessions", effect.session_id, "effects", effect.effect_id, "retry"), {}).then(reload);
  return html`<h1>Effects</h1><div class="filters"><label>State<select onChange=${e => setQuery({ state: e.target.value, cursor: "" })}>${["", "pending", "failed", "done"].map(one => html`<option value=${one} selected=${(query().get("state") ?? "") === one}>${one || "All"}</option>`)}</select></label></div>
    <${Failure} error=${error} />${data && html`<${Table} label="Effects" heads=${["Effect", "State", "From", "To", "Attempts", ""]} empty="No pending deliveries." rows=${data.items.map(effect => html`<tr key=${effect.session_id + effect.effect_id}>
    <td>${effect.kind.replaceAll("_", " ")}${effect.last_error && html`<div class="quiet">${marked(effect.last_error)}</div>`}</td><td>${effect.state}</td><td>${session(effect.session_id)}</td><td>${session(effect.target_session_id)}</td><td>${effect.attempts}</td>
    <td>${effect.state !== "done" && html`<button onClick=${() => retry(effect)}>Try again</button>`}</td></tr>`)} />
    ${data.pagination.has_more && html`<button onClick=${() => setQuery({ cursor: data.pagination.next_cursor })}>Next page</button>`}`}`;
}

function SignedIn() {
  const [problem, setProblem] = useState("");
  return html`<p>Signed in as <strong>${marked(account.me.on_behalf_of ?? account.me.principal)}</strong>, ${account.me.role}. Your decisions are recorded under this name.</p>
    <p><button onClick=${() => turnOffPush().catch(() => {}).then(signOut).catch(error => setProblem(error.message))}>Sign out</button></p><${Failure} error=${problem} />`;
}

export function Settings() {
  const [, tick] = useReducer(n => n + 1, 0);
  useLayoutEffect(() => subscribe(tick), []);
  useLayoutEffect(() => onAccount(tick), []);
  const notify = async event => {
    const granted = event.target.checked && await Notification.requestPermission() === "granted";
    settings.set("notifications", granted ? "on" : "off");
    tick();
  };
  return html`<h1>Settings</h1><div class="form settings">
    ${account.me?.via === "session" && html`<${SignedIn} />`}
    ${(account.me === null || account.me.via === "open") && html`<label>Your name<input autocomplete="username" value=${settings.get("name")} maxlength="200" onInput=${e => settings.set("name", e.target.value)} /></label>
    <p class="quiet">Recorded with your decisions.</p>`}
    <label class="choice"><input type="checkbox" checked=${settings.get("notifications") === "on"} onChange=${notify} />Desktop notifications</label>
    <label class="choice"><input type="checkbox" checked=${settings.get("sound") === "on"} onChange=${e => settings.set("sound", e.target.checked ? "on" : "off")} />Sound</label>
    <label class="choice"><input type="checkbox" checked=${settings.get("compact") === "on"} onChange=${e => { settings.set("compact", e.target.checked ? "on" : "off"); tick(); }} />Compact</label>
    <label class="choice"><input type="checkbox" checked=${settings.get("advance", "on") === "on"} onChange=${e => { settings.set("advance", e.target.checked ? "on" : "off"); tick(); }} />On a phone, open the next request after a decision</label>
    <div role="radiogroup" aria-label="Wait before sending" class="choices"><span class="quiet">Wait before sending</span>${waits.map(one => html`<label class="choice"><input type="radio" name="wait" checked=${waitSeconds() === one} onChange=${() => { settings.set("wait", one); tick(); }} />${one} s</label>`)}</div>
    <p class="quiet">A decision that waits can be taken back. If you leave the page, it is not sent.</p>
    <p class="quiet">No notifications or sounds while you are looking at this page. Decisions made here are logged as "in the inbox".</p>
    <p><a href="/docs">Documents</a></p></div>
    <${PushSettings} />${account.me?.role === "admin" && html`<${Tokens} />`}`;
}
